// arch: compute_75
// Moves: packing and unpacking of narrow values in wide registers, immediates, and discarded parts.
#include "common.cuh"

ROWS(pack) {
    INPUTS
    CODE("mov.b64 %0, {%1, %2};", l, r, r, r)
    CODE("mov.b32 %0, {%1, %2};", r, h, h, h)
    CODE("mov.b64 %0, {%1, %2, %3, %1};", l, h, h, h)
    CODE(".reg .b32 t; mov.b64 {%0, t}, %1;", r, l, l, l)
    CODE(".reg .b32 t; mov.b64 {t, %0}, %1;", r, l, l, l)
    CODE("mov.b64 {_, %0}, %1;", r, l, l, l)
    CODE(".reg .b16 t; mov.b32 {%0, t}, %1;", h, r, r, r)
    CODE("mov.b32 {_, %0}, %1;", h, r, r, r)
    CODE(".reg .b16 t; mov.b64 {t, t, %0, t}, %1;", h, l, l, l)
    CODE(".reg .b8 x, y, z, w; .reg .b32 t; mov.b32 {x, y, z, w}, %1; mov.b32 %0, {w, z, y, x};", r, r, r, r)
    CODE("mov.b16 %0, %1;", h, h, h, h)
    CODE("mov.u32 %0, %1;", r, r, r, r)
    CODE("mov.f32 %0, %1;", r, r, r, r)
    CODE("mov.f64 %0, %1;", l, l, l, l)
    CODE("mov.b64 %0, -2;", l, r, r, r)
    CODE("mov.u16 %0, 65535;", h, r, r, r)
    CODE("mov.f32 %0, 0f40490FDB;", r, r, r, r)
    CODE("mov.f64 %0, 1.5;", l, r, r, r)
    CODE("mov.s32 %0, 0xFFFF & ~0xF0 | 1 << 20;", r, r, r, r)
    CODE(".reg .v2 .b32 v; mov.b32 v.x, %2; mov.b32 v.y, %1; mov.b64 %0, {v.x, v.y};", l, r, r, r)
}
