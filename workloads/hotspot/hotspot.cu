// arch: compute_75
// Two steps of heat in a square chip: a block brings 16 x 16 cells to shared memory and computes 12 x 12 of them.

#define TILE 16
#define STEPS 2
#define INNER (TILE - 2 * STEPS)
#define AMBIENT 80.0f

extern "C" __global__ void hotspot(const float *power, const float *from, float *to, int size, float gain, float along, float up)
{
    __shared__ float heat[2][TILE][TILE];
    int tile_x = threadIdx.x, tile_y = threadIdx.y;
    int x = blockIdx.x * INNER + tile_x - STEPS, y = blockIdx.y * INNER + tile_y - STEPS;
    bool inside = x >= 0 && x < size && y >= 0 && y < size;
    float own = 0, source = 0;
    if (inside) {
        own = from[(size_t)y * size + x];
        source = power[(size_t)y * size + x];
    }
    heat[0][tile_y][tile_x] = own;
    __syncthreads();
#pragma unroll
    for (int step = 0; step < STEPS; ++step) {
        float next = own;
        int low = step + 1, high = TILE - low;
        if (inside && tile_x >= low && tile_x < high && tile_y >= low && tile_y < high) {
            float (*now)[TILE] = heat[step % 2];
            float north = y > 0 ? now[tile_y - 1][tile_x] : own, south = y < size - 1 ? now[tile_y + 1][tile_x] : own;
            float west = x > 0 ? now[tile_y][tile_x - 1] : own, east = x < size - 1 ? now[tile_y][tile_x + 1] : own;
            float flow = (north + south - 2 * own) * along + (west + east - 2 * own) * along;
            next = own + gain * (source + flow + (AMBIENT - own) * up);
        }
        heat[1 - step % 2][tile_y][tile_x] = next;
        own = next;
        __syncthreads();
    }
    int low = STEPS, high = TILE - STEPS;
    if (inside && tile_x >= low && tile_x < high && tile_y >= low && tile_y < high)
        to[(size_t)y * size + x] = own;
}
