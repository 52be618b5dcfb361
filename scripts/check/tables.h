/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rows of the tables as text: preprocessed with one of the .def files
 * behind it (gcc -E -undef), each row becomes ROW(KIND, ...) with its words
 * quoted. Read by scripts/check/docs-tables and scripts/events-doc.
 */
/* clang-format off */
#define KL_EVENT(id, name, group, set, help, source, access, fields, strings) \
	@row event #id #name #group #set help #access fields strings @end
#define KL_SYSCALL(number, name, help, arguments) @row syscall #number #name help arguments @end
#define KL_HANDLER(id, name, help) @row handler #id #name help @end
#define KL_VARIABLE(id, name, scope, type, unit, access, help) @row variable #id #name help @end
#define KL_FORMAT(name, help) @row format "-" #name help @end

#define FIELD(type, name, format) @field #type #name #format
#define KL_F(type, name, format, value) FIELD(type, name, format)
#define KL_F1 KL_F
#define KL_F2 KL_F
#define KL_A(type, name, count, format, pointer) @field #type "[" #count "]" #name #format
#define KL_COMM(name, task) FIELD(char[16], name, comm)
#define KL_COMM1 KL_COMM
#define KL_COMM2 KL_COMM
#define KL_STR(name, pointer) FIELD(string, name, text)
#define KL_STR1 KL_STR
#define KL_STRN(name, pointer, length) FIELD(string, name, text)
#define KL_NO_FIELDS
#define KL_NO_STRINGS
#define A0 FIELD
#define A1 FIELD
#define A2 FIELD
#define A3 FIELD
#define A4 FIELD
#define A5 FIELD
