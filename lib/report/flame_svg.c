// SPDX-License-Identifier: GPL-2.0
/*
 * A flame graph as SVG: one row for each depth, roots at the bottom, width by value. A small
 * embedded script zooms and searches; without it the graph is a static picture. It loads nothing.
 */
#include <string.h>

#include "../base/base.h"
#include "flame.h"
#include "svg.h"

#define WIDTH 1200.0
#define MARGIN 10.0
#define TOP 64
#define BOTTOM 34
#define ROW 17
#define LETTER 6.6 /* width of a letter */
#define LEAST 0.25 /* narrower frames are omitted */

struct drawing {
	struct kl_buffer *to;
	double scale;
	unsigned int depth;
	const char *unit;
	uint64_t total;
};

static unsigned int depth_of(const struct kl_flame_node *node, double scale)
{
	unsigned int most = 0;

	for (size_t i = 0; i < node->n; i++) {
		if ((double)node->child[i]->all * scale < LEAST)
			continue;
		unsigned int depth = 1 + depth_of(node->child[i], scale);

		most = depth > most ? depth : most;
	}
	return most;
}

void kl_svg_add_text(struct kl_buffer *to, const char *text, size_t length)
{
	for (; *text && length; text++, length--) {
		unsigned char c = (unsigned char)*text;

		if (c == '<')
			kl_buffer_add_string(to, "&lt;");
		else if (c == '>')
			kl_buffer_add_string(to, "&gt;");
		else if (c == '&')
			kl_buffer_add_string(to, "&amp;");
		else if (c == '"')
			kl_buffer_add_string(to, "&quot;");
		else
			kl_buffer_add_char(to, c < ' ' || c >= 0x7f ? '?' : (char)c);
	}
}

/* The same name has the same color everywhere. */
static void add_color(struct kl_buffer *to, const struct kl_flame_node *node)
{
	static const struct {
		unsigned int hue, hue_span, saturation, light;
	} of[] = {
		[KL_FLAME_TASK] = { 210, 20, 12, 78 },
		[KL_FLAME_USER] = { 18, 34, 82, 66 },
		[KL_FLAME_KERNEL] = { 196, 34, 62, 66 },
		[KL_FLAME_STATE] = { 96, 24, 38, 66 },
	};
	uint64_t hash = kl_hash_bytes(KL_HASH_START, node->name, strlen(node->name));

	hash ^= hash >> 29;
	kl_buffer_printf(to, "hsl(%u,%u%%,%u%%)",
			 of[node->kind].hue + (unsigned int)(hash % of[node->kind].hue_span),
			 of[node->kind].saturation,
			 of[node->kind].light + (unsigned int)(hash >> 8) % 10);
}

static void draw_node(const struct drawing *d, const struct kl_flame_node *node, double x,
		      unsigned int level)
{
	double width = (double)node->all * d->scale;
	unsigned int y = TOP + (d->depth - level) * ROW;
	size_t letters = (size_t)((width - 6) / LETTER);

	kl_buffer_printf(d->to, "<g class=\"f\" data-x=\"%.3f\" data-w=\"%.3f\"><title>", x, width);
	kl_svg_add_text(d->to, node->name, SIZE_MAX);
	kl_buffer_printf(d->to,
			 ": %llu %s, %.2f%%</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
			 "height=\"%u\" rx=\"2\" fill=\"",
			 (unsigned long long)node->all, d->unit,
			 100.0 * (double)node->all / (double)d->total, x, y,
			 width > 0.4 ? width - 0.2 : width, ROW - 1);
	add_color(d->to, node);
	kl_buffer_printf(d->to, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
	if (width > 4 * LETTER)
		kl_svg_add_text(d->to, node->name, letters);
	kl_buffer_add_string(d->to, "</text></g>\n");
}

static void draw(const struct drawing *d, const struct kl_flame_node *node, double x,
		 unsigned int level)
{
	for (size_t i = 0; i < node->n; i++) {
		double width = (double)node->child[i]->all * d->scale;

		if (width >= LEAST) {
			draw_node(d, node->child[i], x, level);
			draw(d, node->child[i], x, level + 1);
		}
		x += width;
	}
}

static const char style[] =
	"<style>\n"
	"text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1b1b1b}\n"
	".h{font:600 16px system-ui,sans-serif}.s{font:12px system-ui,sans-serif;fill:#555}\n"
	".b{font:12px system-ui,sans-serif;fill:#0b57a4;cursor:pointer}\n"
	".f{cursor:pointer}.f text{pointer-events:none}.f:hover rect{stroke:#000;stroke-width:.8}\n"
	".f.m rect{fill:#d81bd8}.f.p{opacity:.45}.f.o{display:none}\n"
	"</style>\n";

static const char script[] =
	"<script><![CDATA[\n"
	"(function(){'use strict';\n"
	"const svg=document.currentScript?document.currentScript.ownerSVGElement:document.documentElement;\n"
	"const all=[...svg.querySelectorAll('.f')].map(g=>{const t=g.querySelector('title').textContent;\n"
	" return{g,r:g.querySelector('rect'),t:g.querySelector('text'),x:+g.dataset.x,w:+g.dataset.w,\n"
	"  y:+g.querySelector('rect').getAttribute('y'),title:t,name:t.replace(/: \\d+ \\S+, [\\d.]+%$/,'')};});\n"
	"const left=10,wide=1180,info=svg.getElementById('info'),back=svg.getElementById('back'),\n"
	" find=svg.getElementById('find'),found=svg.getElementById('found');\n"
	"let from=left,span=wide;\n"
	"function place(f,x,w){f.r.setAttribute('x',x);f.r.setAttribute('width',Math.max(w-.2,.1));\n"
	" f.t.setAttribute('x',Math.max(x,left)+3);const n=Math.floor((Math.min(x+w,left+wide)-Math.max(x,left)-6)/6.6);\n"
	" f.t.textContent=n>3?f.name.slice(0,n):'';}\n"
	"function zoom(x,w,y){from=x;span=w;for(const f of all){const inside=f.x>=x-.001&&f.x+f.w<=x+w+.001,\n"
	"  under=f.y>=y&&f.x<=x+.001&&f.x+f.w>=x+w-.001;\n"
	"  f.g.classList.toggle('o',!inside&&!under);f.g.classList.toggle('p',under&&!inside);\n"
	"  if(under&&!inside)place(f,left,wide);else if(inside)place(f,left+(f.x-x)/w*wide,f.w/w*wide);}\n"
	" back.style.display=w<wide-.001?'':'none';}\n"
	"function search(text){let seen=[],sum=0,re=null;if(text){try{re=new RegExp(text,'i');}catch(e){\n"
	"  found.textContent='not a pattern: '+text;return;}}\n"
	" for(const f of all){const hit=re&&re.test(f.name);f.g.classList.toggle('m',!!hit);if(hit)seen.push(f);}\n"
	" seen.sort((a,b)=>a.x-b.x||b.w-a.w);let end=-1;for(const f of seen)if(f.x>=end-.001){sum+=f.w;end=f.x+f.w;}\n"
	" found.textContent=re?text+': '+(100*sum/wide).toFixed(2)+'%':'';}\n"
	"for(const f of all){f.g.addEventListener('click',()=>zoom(f.x,f.w,f.y));\n"
	" f.g.addEventListener('mouseenter',()=>{info.textContent=f.title;});\n"
	" f.g.addEventListener('mouseleave',()=>{info.textContent='';});}\n"
	"back.addEventListener('click',()=>zoom(left,wide,Infinity));\n"
	"find.addEventListener('click',()=>{const t=prompt('Functions to find (regular expression)');\n"
	" if(t!==null)search(t);});\n"
	"document.addEventListener('keydown',e=>{if(e.key==='Escape')zoom(left,wide,Infinity);\n"
	" if(e.key==='/'){e.preventDefault();find.dispatchEvent(new Event('click'));}});\n"
	"const hash=decodeURIComponent(location.hash.slice(1));if(hash.startsWith('find='))search(hash.slice(5));\n"
	"if(hash.startsWith('zoom=')){const f=all.find(f=>f.name===hash.slice(5));if(f)zoom(f.x,f.w,f.y);}\n"
	"})();\n"
	"]]></script>\n";

static void add_head(struct kl_buffer *to, const struct drawing *d, const char *title)
{
	unsigned int height = TOP + (d->depth + 1) * ROW + BOTTOM;

	kl_buffer_printf(to,
			 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" "
			 "viewBox=\"0 0 %.0f %u\">\n",
			 WIDTH, height, WIDTH, height);
	kl_buffer_add_string(to, style);
	kl_buffer_printf(to,
			 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfaf7\"/>\n"
			 "<text class=\"h\" x=\"%.0f\" y=\"28\">",
			 MARGIN);
	kl_svg_add_text(to, title, SIZE_MAX);
	kl_buffer_printf(
		to,
		"</text>\n<text class=\"s\" x=\"%.0f\" y=\"48\">%llu %s in total; grey: tasks, "
		"warm: program, blue: kernel, green: state</text>\n"
		"<text class=\"b\" id=\"back\" x=\"1010\" y=\"28\" style=\"display:none\">"
		"Reset zoom</text>\n"
		"<text class=\"b\" id=\"find\" x=\"1120\" y=\"28\">Search (/)</text>\n"
		"<text class=\"s\" id=\"found\" x=\"1190\" y=\"48\" text-anchor=\"end\"></text>\n"
		"<text class=\"s\" id=\"info\" x=\"%.0f\" y=\"%u\"></text>\n",
		MARGIN, (unsigned long long)d->total, d->unit, MARGIN, height - 12);
}

void kl_flame_svg(struct kl_flame *flame, struct kl_buffer *buffer, const char *title,
		  const char *unit)
{
	struct drawing d = { .to = buffer, .unit = unit, .total = flame->root.all };

	kl_flame_sort(&flame->root);
	d.scale = d.total ? (WIDTH - 2 * MARGIN) / (double)d.total : 0;
	d.depth = depth_of(&flame->root, d.scale);
	add_head(buffer, &d, title);
	draw(&d, &flame->root, MARGIN, 0);
	kl_buffer_add_string(buffer, script);
	kl_buffer_add_string(buffer, "</svg>\n");
}

void kl_flame_html(struct kl_flame *flame, struct kl_buffer *buffer, const char *title,
		   const char *unit)
{
	kl_buffer_add_string(
		buffer, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
	kl_svg_add_text(buffer, title, SIZE_MAX);
	kl_buffer_add_string(buffer, "</title><style>body{margin:0;background:#fbfaf7}"
				     "svg{display:block;margin:0 auto;max-width:100%;height:auto}"
				     "</style></head><body>\n");
	kl_flame_svg(flame, buffer, title, unit);
	kl_buffer_add_string(buffer, "</body></html>\n");
}
