# SPDX-License-Identifier: GPL-2.0
#
# Called by bench/workloads/run with the lines of bench/workloads/guest; writes the Markdown `md`, the
# results `json` and the picture `svg`. Of each case, the least of its rounds counts. Fails if a module
# that is not loaded, or not used, costs more than what rounds of the same differ by, if kernlens loses
# records on their way to a file, or if it costs more than half of the next tracer at the same level.

function fail(why)
{
	print "not ok " ++checked " - workloads: " why > "/dev/stderr"
	failed = 1
}

function check(good, text)
{
	if (good)
		print "ok " ++checked " - " text > "/dev/stderr"
	else
		fail(text)
}

# Was it measured?
function has(how, workload, name)
{
	return (how SUBSEP workload SUBSEP name) in least
}

function title(workload)
{
	return workload == "build" ? "kernel build" : workload == "web" ? "web server" : workload
}

# In per cent, compared with the work without the module.
function extra(workload, name)
{
	return 100 * (least["instructions", workload, name] / least["instructions", workload, "no module"] - 1)
}

# What rounds without the module differ by, in per cent.
function spread(workload)
{
	return 100 * (most["instructions", workload, "no module"] / least["instructions", workload, "no module"] - 1)
}

# The shortest time of a run without tracing, and the longest in `slowest`.
function untraced_time(workload,   i, name, fastest)
{
	slowest = 0
	for (i = 1; i <= 3; i++) {
		name = i == 1 ? "no module" : i == 2 ? "installed, not loaded" : "loaded, no session"
		if (!has("wall", workload, name))
			continue
		if (!fastest || least["wall", workload, name] < fastest)
			fastest = least["wall", workload, name]
		if (most["wall", workload, name] > slowest)
			slowest = most["wall", workload, name]
	}
	return fastest
}

function cell(x)
{
	return x == "-" ? "" : x
}

function table(workload,   i, name, key, base, per, time, fastest)
{
	base = least["instructions", workload, "no module"]
	print "\n### " toupper(substr(title(workload), 1, 1)) substr(title(workload), 2) ", kernel " release "\n" > md
	fastest = untraced_time(workload)
	printf("Without the module: %.0f million instructions; its runs differ by %.2f %%. The times of all runs without\n",
	       base / 1e6, spread(workload)) > md
	printf("tracing differ by %.0f %%, so smaller differences in time say nothing.\n\n",
	       fastest ? 100 * (slowest / fastest - 1) : 0) > md
	print "| | million instructions | extra | events | instructions an event | lost | MB | time |" > md
	print "|---|---|---|---|---|---|---|---|" > md
	for (i = 1; i <= n; i++) {
		name = names[i]
		key = "instructions" SUBSEP workload SUBSEP name
		if (!(key in least))
			continue
		per = events[key] > 0 ? sprintf("%.0f", (least[key] - base) / events[key]) : ""
		time = has("wall", workload, name) ? sprintf("%.2f", least["wall", workload, name] / fastest) : ""
		printf("| %s | %.1f | %s | %s | %s | %s | %s | %s |\n", name, least[key] / 1e6,
		       name == "no module" ? "" : sprintf("%+.2f %%", extra(workload, name)),
		       cell(events[key]), per, events[key] > 0 ? cell(lost[key]) : "",
		       bytes[key] > 0 ? sprintf("%.1f", bytes[key] / 1e6) : "", time) > md
	}
}

# The tracers other than kernlens that were measured at this level.
function best_other(workload, level,   i, x, best)
{
	best = ""
	for (i = 1; i <= n; i++)
		if (names[i] !~ /^kernlens/ && names[i] ~ level "$" && has("instructions", workload, names[i])) {
			x = extra(workload, names[i])
			if (best == "" || x < best)
				best = x
		}
	return best
}

function check_workload(workload,   i, x, bound, level, name, other)
{
	bound = spread(workload) > 0.3 ? spread(workload) : 0.3
	for (i = 1; i <= 3; i++) {
		name = i == 1 ? "installed, not loaded" : i == 2 ? "loaded, no session" : "kernlens, memory: RNOTHING"
		x = extra(workload, name)
		check(has("instructions", workload, name) && x <= bound && x >= -bound,
		      sprintf("%s: %s: %+.2f %%, accepted are %.2f", title(workload), name, x, bound))
	}
	for (i = 1; i <= 2; i++) {
		level = i == 1 ? "RDEFAULT" : "RALL"
		name = "kernlens, memory: " level
		x = extra(workload, name)
		other = best_other(workload, "memory: " level)
		check(x <= other / 2, sprintf("%s: %s: %+.1f %%, the next tracer %+.1f %%", title(workload), name, x, other))
		name = "kernlens, files: " level
		if (has("instructions", workload, name))
			check(lost["instructions", workload, name] == "0",
			      sprintf("%s: %s: %s lost", title(workload), name, lost["instructions", workload, name]))
	}
}

# ----------------------------------------------------------------- picture

function bar_color(name)
{
	return name ~ /^kernlens/ ? "#2f6db5" : name ~ /^ftrace/ ? "#b5762f" : name ~ /^lttng/ ? "#6d9a3a" : "#888888"
}

function text(x, y, anchor, what)
{
	printf "<text x='%d' y='%d' text-anchor='%s'>%s</text>\n", x, y, anchor, what > svg
}

function picture(   i, j, y, x, widest, left, width, rows)
{
	left = 200
	width = 400
	for (j = 1; j <= nworkloads; j++) {
		rows += 2
		for (i = 1; i <= n; i++)
			if (has("instructions", workloads[j], names[i]) && names[i] != "no module") {
				rows++
				x = extra(workloads[j], names[i])
				widest = x > widest ? x : widest
			}
	}
	printf "<svg xmlns='http://www.w3.org/2000/svg' width='680' height='%d' font-family='sans-serif' font-size='12' fill='#333'>\n",
		rows * 18 + 12 > svg
	printf "<rect width='100%%' height='100%%' fill='#fff'/>\n" > svg
	y = 4
	for (j = 1; j <= nworkloads; j++) {
		y += 22
		printf("<text x='8' y='%d' font-weight='bold'>%s: extra instructions</text>\n", y,
		       toupper(substr(title(workloads[j]), 1, 1)) substr(title(workloads[j]), 2)) > svg
		y += 6
		for (i = 1; i <= n; i++) {
			if (!has("instructions", workloads[j], names[i]) || names[i] == "no module")
				continue
			x = extra(workloads[j], names[i])
			text(left - 6, y + 13, "end", names[i])
			printf("<rect x='%d' y='%d' width='%.1f' height='12' fill='%s'/>\n", left, y + 3,
			       x > 0 ? x * width / widest + 1 : 1, bar_color(names[i])) > svg
			text(left + 6 + (x > 0 ? x * width / widest : 0), y + 13, "start", sprintf("%+.1f %%", x))
			y += 18
		}
		y += 8
	}
	print "</svg>" > svg
}

function write_json(   i, f, comma, key)
{
	print "{\n  \"kernel\": \"" release "\",\n  \"results\": [" > json
	for (i = 1; i <= nkeys; i++) {
		key = keys[i]
		split(key, f, SUBSEP)
		printf("%s    { \"unit\": \"%s\", \"workload\": \"%s\", \"case\": \"%s\", \"least\": %s, \"most\": %s, \"events\": %s, \"lost\": %s, \"bytes\": %s }",
			comma, f[1] == "wall" ? "ticks" : "instructions", f[2], f[3], least[key], most[key],
			events[key] == "-" ? "null" : events[key], lost[key] == "-" ? "null" : lost[key],
			bytes[key] == "-" ? "null" : bytes[key]) > json
		comma = ",\n"
	}
	print "\n  ]\n}" > json
}

BEGIN {
	FS = "\t"
}

NF == 7 {
	key = $1 SUBSEP $2 SUBSEP $3
	if (!($2 in seen_workload)) {
		seen_workload[$2] = 1
		workloads[++nworkloads] = $2
	}
	if (!($3 in seen)) {
		seen[$3] = 1
		names[++n] = $3
	}
	if (!(key in least))
		keys[++nkeys] = key
	if (!(key in least) || $4 < least[key]) {
		least[key] = $4 + 0
		events[key] = $5
		bytes[key] = $7
	}
	if ($4 > most[key])
		most[key] = $4 + 0
	if (!(key in lost) || $6 > lost[key])
		lost[key] = $6
}

END {
	if (!nworkloads)
		fail("no results")
	for (w = 1; w <= nworkloads; w++) {
		table(workloads[w])
		check_workload(workloads[w])
	}
	picture()
	write_json()
	exit failed
}
