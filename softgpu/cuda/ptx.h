/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GP_SOFT_PTX_H
#define GP_SOFT_PTX_H

#include "softgpu/cuda/face.h"

/** Does the image begin like PTX text? */
bool face_ptx_is(const char *image);
/** Puts all entries of @text in front of *@functions; face_ptx_free() them, also after an error. */
CUresult face_ptx_entries(const char *text, struct face_function **functions);
void face_ptx_free(struct face_function *functions);

#endif
