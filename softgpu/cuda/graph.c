// SPDX-License-Identifier: Apache-2.0
/*
 * graph.c - graphs, made by stream capture. Work keeps the order of its capture and runs in
 * that order, in the stream of the launch.
 */
#include <stdlib.h>
#include <string.h>

#include "softgpu/cuda/face.h"

#define CAPTURE_NONE 0
#define CAPTURE_ACTIVE 1

struct node {
	struct node *next;
	struct face_work work;
};

struct face_graph {
	uint32_t magic;
	struct node *first, **last;
};

struct face_exec {
	uint32_t magic;
	struct face_graph *graph; /* its own copy */
};

static _Thread_local int capture_mode;

static struct face_graph *graph_create(void)
{
	struct face_graph *g = calloc(1, sizeof(*g));

	if (g) {
		g->magic = FACE_GRAPH;
		g->last = &g->first;
	}
	return g;
}

static void graph_free(struct face_graph *g)
{
	while (g->first) {
		struct node *n = g->first;

		g->first = n->next;
		free(n);
	}
	g->magic = 0;
	free(g);
}

CUresult face_graph_append(struct face_graph *g, const struct face_work *work)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	n->work = *work;
	n->work.sub.cost_ns = 0;
	*g->last = n;
	g->last = &n->next;
	return CUDA_SUCCESS;
}

CUresult do_cuThreadExchangeStreamCaptureMode(int *mode)
{
	int old = capture_mode;

	if (!mode || *mode < 0 || *mode > 2)
		return CUDA_ERROR_INVALID_VALUE;
	capture_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamBeginCapture_v2(CUstream handle, int mode)
{
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (s == &s->ctx->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&s->order);
	if (s->capture) {
		err = CUDA_ERROR_ILLEGAL_STATE;
	} else {
		s->capture = graph_create();
		s->capture_origin = true;
		err = s->capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&s->order);
	return err;
}

/* Streams that joined the capture leave it when it ends. */
static void release_joined(struct face_ctx *ctx, const struct face_graph *g)
{
	pthread_mutex_lock(&ctx->lock);
	for (struct face_stream *s = ctx->streams; s; s = s->next)
		if (s->capture == g)
			s->capture = NULL;
	pthread_mutex_unlock(&ctx->lock);
}

CUresult do_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	struct face_graph *g;
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&s->order);
	g = s->capture_origin ? s->capture : NULL;
	if (g) {
		s->capture = NULL;
		s->capture_origin = false;
	}
	pthread_mutex_unlock(&s->order);
	if (!g)
		return CUDA_ERROR_ILLEGAL_STATE;
	release_joined(s->ctx, g);
	*graph = g;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamIsCapturing(CUstream handle, int *status)
{
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = s->capture ? CAPTURE_ACTIVE : CAPTURE_NONE;
	return CUDA_SUCCESS;
}

CUresult do_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, uint64_t flags)
{
	struct face_exec *e;
	CUresult err = face_check();

	if (err)
		return err;
	if (!out || !graph || graph->magic != FACE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->graph = graph_create();
	if (!e->graph) {
		free(e);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (struct node *n = graph->first; !err && n; n = n->next)
		err = face_graph_append(e->graph, &n->work);
	e->magic = FACE_EXEC;
	if (err)
		do_cuGraphExecDestroy(e);
	else
		*out = e;
	return err;
}

CUresult do_cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, void **node, char *log,
				  size_t log_bytes)
{
	if (node)
		*node = NULL;
	if (log && log_bytes)
		log[0] = '\0';
	return do_cuGraphInstantiateWithFlags(out, graph, 0);
}

/* The launch of the graph reads memory that is not mapped. */
static CUresult launch_node(struct face_stream *s, const struct face_work *node, uint64_t cost_ns)
{
	struct face_work work = *node;
	uint64_t staged = 0;
	CUresult err = CUDA_SUCCESS;

	work.sub.cost_ns = cost_ns;
	if (work.host_src) {
		err = face_stage(work.host_src, work.sub.bytes, &staged);
		work.sub.src = staged;
		work.host_src = NULL;
	}
	if (!err)
		err = face_submit_locked(s, &work, NULL);
	if (staged)
		face_unstage(staged, work.sub.bytes);
	return err;
}

CUresult do_cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
	uint64_t cost_ns = FACE_GRAPH_NS;
	struct face_stream *s;
	CUresult err = face_stream_get(handle, &s);

	if (err)
		return err;
	if (!exec || exec->magic != FACE_EXEC)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&s->order);
	if (s->capture)
		err = CUDA_ERROR_NOT_SUPPORTED;
	for (struct node *n = exec->graph->first; !err && n; n = n->next) {
		err = launch_node(s, &n->work, cost_ns);
		cost_ns = 0;
	}
	pthread_mutex_unlock(&s->order);
	return err;
}

CUresult do_cuGraphDestroy(CUgraph graph)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!graph || graph->magic != FACE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult do_cuGraphExecDestroy(CUgraphExec exec)
{
	CUresult err = face_check();

	if (err)
		return err;
	if (!exec || exec->magic != FACE_EXEC)
		return CUDA_ERROR_INVALID_VALUE;
	graph_free(exec->graph);
	exec->magic = 0;
	free(exec);
	return CUDA_SUCCESS;
}
