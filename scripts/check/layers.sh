# shellcheck shell=bash disable=SC2034 # what is set here is used there
# SPDX-License-Identifier: GPL-2.0
#
# The layers of the project: used by `includes` and `calls`.

# layer paths (the first row that matches a file's path is its layer)
layers() {
	cat <<-'END'
	uapi     uapi/*
	rows     kernel/compat/probe_rows.c
	compat   kernel/compat/*
	exported kernel/include/*
	ring     kernel/ring/*
	kbase    kernel/base/*
	core     kernel/core/*
	handler  kernel/handler/*
	task     kernel/task/*
	source   kernel/source/*
	latency  kernel/latency/*
	splicer  kernel/splice/*
	session  kernel/session/*
	device   kernel/device/*
	main     kernel/*
	public   lib/include/*
	internal lib/internal/*
	base     lib/base/*
	client   lib/client/*
	reader   lib/reader/*
	format   lib/format/*
	symbol   lib/symbol/*
	block    lib/block/*
	ptrace   lib/ptrace/*
	symbolize lib/symbolize/*
	splice   lib/splice/*
	plan     lib/plan/*
	record   lib/record/*
	metrics  lib/metrics/*
	crash    lib/crash/*
	report   lib/report/*
	monitor  lib/monitor/*
	commands cli/commands.def
	cbase    cli/base/*
	cformat  cli/format/*
	csession cli/session/*
	cblock   cli/block/*
	clatency cli/latency/*
	cdoctor  cli/doctor/*
	clist    cli/list/*
	cmonitor cli/monitor/*
	cproc    cli/proc/*
	cserve   cli/serve/*
	cfleet   cli/fleet/*
	crecord  cli/record/*
	cprofile cli/profile/*
	cwhy     cli/why/*
	clocks   cli/locks/*
	cmemory  cli/memory/*
	ctrace   cli/trace/*
	cli      cli/*
	shown    view/tui/tui.h
	shown    view/top/top.h
	shown    view/page/page.h
	shown    view/page/graph.h
	shown    view/page/plot.h
	shown    view/page/memory.h
	shown    view/page/serve.h
	shown    view/http/access.h
	shown    view/http/address.h
	shown    view/http/http.h
	shown    view/http/local.h
	view     view/*
	example  examples/read/*
	example  examples/live/*
	fleet    fleet/*
	END
}

# layer: layers that it may include, in addition to itself and to public headers from outside the
# project. Files of other folders (tests, bench) may include anything.
# `rows` is not part of the module: it asks the compiler which rows a kernel supports, including
# their values.
allowed() {
	cat <<-'END'
	uapi
	rows     compat base core handler task source uapi
	compat   uapi
	ring     compat uapi
	exported uapi
	kbase    compat uapi
	core     kbase ring compat exported uapi
	handler  core kbase ring compat exported uapi
	task     core kbase ring compat uapi
	source   handler task core kbase ring compat exported uapi
	latency  source handler task core kbase ring compat uapi
	splicer  source handler task core kbase ring compat uapi
	session  splicer latency source handler task core kbase ring compat exported uapi
	device   session splicer latency source handler task core kbase ring compat uapi
	main     device session splicer latency source handler task core kbase ring compat uapi
	public   uapi
	internal public uapi
	base     internal public uapi
	client   base internal public uapi
	reader   base internal public uapi
	format   base internal public uapi
	symbol   base internal public uapi
	block    base internal public uapi
	ptrace   block base internal public uapi
	symbolize client reader format symbol block base internal public uapi
	splice   ptrace symbolize client format symbol block base internal public uapi
	plan     splice symbolize client format symbol block base internal public uapi
	crash    reader format symbol base internal public uapi
	record   plan splice symbolize client reader format symbol block base internal public uapi
	report   symbolize client reader format symbol block base internal public uapi
	monitor  client format symbol base internal public uapi
	metrics  client base internal public uapi
	shown    internal public
	commands
	cbase    commands internal public shown
	cformat  cbase internal public
	csession cbase internal public
	cblock   csession cbase internal public shown
	clatency csession cbase internal public
	cdoctor  cbase internal public
	clist    csession cbase internal public
	cmonitor cbase internal public
	cproc    cbase internal public shown
	cserve   csession cbase internal public shown
	cfleet   csession cbase internal public
	crecord  csession cformat cbase internal public
	cprofile cblock csession cbase internal public shown
	cwhy     csession cbase internal public
	clocks   csession cbase internal public
	cmemory  csession cbase internal public shown
	ctrace   csession cformat cbase internal public shown
	cli      commands cbase internal public
	view     internal public shown
	example  public
	fleet    uapi
	END
}

# What may be called: the layers of each half in order, lowest first. A layer may use those before
# it; public headers make this less strict than what may be included.
order() {
	cat <<-'END'
	compat ring kbase core handler task source latency splicer session device main
	base format symbol reader block client ptrace symbolize splice plan crash record report monitor metrics view
	cbase cformat csession cblock cdoctor clatency clist cmonitor cproc cserve cfleet crecord cprofile cwhy clocks cmemory ctrace cli
	END
}

# awk: layer(PATH), and `may`, which has (FROM, TO) for each allowed inclusion or call. Needs -v
# layers and -v allowed.
layer_functions='
	BEGIN {
		n = split(layers, row, "\n")
		for (i = 1; i <= n; i++) {
			m = split(row[i], word, " ")
			for (k = 2; k <= m; k++) {
				name[++rules] = word[1]
				begin[rules] = word[k]
			}
		}
		n = split(allowed, row, "\n")
		for (i = 1; i <= n; i++) {
			m = split(row[i], word, " ")
			may[word[1], word[1]] = 1
			for (k = 2; k <= m; k++)
				may[word[1], word[k]] = 1
		}
	}
	function layer(path,  i, start) {
		for (i = 1; i <= rules; i++) {
			start = begin[i]
			if (sub(/\*$/, "", start) ? index(path, start) == 1 : path == start)
				return name[i]
		}
		return ""
	}
'
