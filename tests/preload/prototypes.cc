// SPDX-License-Identifier: Apache-2.0
/*
 * prototypes.cc - each row of driver_calls.def against NVIDIA's cuda.h: the symbol exists, its
 * arguments are passed as the row has it, and its version means this prototype. Compiled only.
 */
#define __CUDA_API_VERSION_INTERNAL /* all versions of each call */
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <type_traits>

#include "preload/driver_calls.h"

/* Passed alike: pointers, integers of one size, or structures of one size. */
template <class A, class B> constexpr bool alike()
{
	return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
	       std::is_class_v<A> == std::is_class_v<B> && !std::is_floating_point_v<B>;
}

template <class A, class B> struct check;
template <class... A, class... B> struct check<int (*)(A...), CUresult (*)(B...)> {
	static constexpr bool value()
	{
		if constexpr (sizeof...(A) != sizeof...(B))
			return false;
		else
			return (alike<A, B>() && ...);
	}
};

#define ROW(symbol, count, ...) \
	static_assert(check<int (*)(GP_TYPES_##count(__VA_ARGS__)), decltype(&symbol)>::value(), #symbol);
#define GP_CALL_PT(kind, name, symbol, since, count, ...) ROW(symbol, count, __VA_ARGS__)
#define GP_CALL(kind, name, symbol, since, count, ...) \
	ROW(symbol, count, __VA_ARGS__) \
	static_assert(check<int (*)(GP_TYPES_##count(__VA_ARGS__)), PFN_##name##_v##since>::value(), \
		      #name " of " #since);
#include "preload/driver_calls.def"
