// arch: compute_75
// One Jacobi step of the 3-D Laplace equation: every inner point becomes the mean of its six neighbors, the outer
// shell keeps its value. A block owns a TILE_X x TILE_Y column of the grid and marches through it plane by plane:
// the current plane lives in shared memory with a halo, the planes below and above in registers.

#define TILE_X 32
#define TILE_Y 4

extern "C" __global__ void laplace3d(const float *from, float *to, int nx, int ny, int nz, int pitch)
{
    __shared__ float plane[TILE_Y + 2][TILE_X + 2];

    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TILE_X + tx;
    int y = blockIdx.y * TILE_Y + ty;
    bool inside = x < nx && y < ny;
    bool on_side = x == 0 || x == nx - 1 || y == 0 || y == ny - 1;
    long long plane_stride = (long long)pitch * ny;
    long long at = (long long)y * pitch + x;

    float below = 0.0f;
    float here = inside ? from[at] : 0.0f;
    float above = 0.0f;

    for (int z = 0; z < nz; z++) {
        plane[ty + 1][tx + 1] = here;
        if (inside) {
            if (z + 1 < nz)
                above = from[at + plane_stride];
            if (tx == 0 && x > 0)
                plane[ty + 1][0] = from[at - 1];
            if (tx == TILE_X - 1 && x + 1 < nx)
                plane[ty + 1][TILE_X + 1] = from[at + 1];
            if (ty == 0 && y > 0)
                plane[0][tx + 1] = from[at - pitch];
            if (ty == TILE_Y - 1 && y + 1 < ny)
                plane[TILE_Y + 1][tx + 1] = from[at + pitch];
        }
        __syncthreads();
        if (inside) {
            float value = here;
            if (!on_side && z > 0 && z + 1 < nz) {
                float sum = plane[ty + 1][tx] + plane[ty + 1][tx + 2];
                sum = sum + plane[ty][tx + 1];
                sum = sum + plane[ty + 2][tx + 1];
                sum = sum + below;
                sum = sum + above;
                value = sum * (1.0f / 6.0f);
            }
            to[at] = value;
        }
        __syncthreads();
        below = here;
        here = above;
        at += plane_stride;
    }
}
