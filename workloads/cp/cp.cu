// arch: compute_75
// Direct Coulomb summation: the electrostatic potential of point charges on one slice of a regular grid. Each thread owns
// two grid points, a block width apart, so that a warp's writes stay contiguous and every atom is read once for both.

#define BLOCK_X 16
#define BLOCK_Y 8

// An atom holds its x, its y, the square of its distance from the slice, and its charge.
extern "C" __global__ void coulomb_potential(const float4 *atoms, unsigned atom_count, float spacing, float *energy,
                                             unsigned width)
{
    unsigned column = blockIdx.x * (2 * BLOCK_X) + threadIdx.x;
    unsigned row = blockIdx.y * BLOCK_Y + threadIdx.y;
    float x0 = column * spacing;
    float x1 = (column + BLOCK_X) * spacing;
    float y = row * spacing;

    float energy0 = 0.0f;
    float energy1 = 0.0f;
    for (unsigned i = 0; i < atom_count; i++) {
        float4 atom = atoms[i];
        float dy = y - atom.y;
        float dyz2 = dy * dy + atom.z;
        float dx0 = x0 - atom.x;
        float dx1 = x1 - atom.x;
        energy0 += atom.w * rsqrtf(dx0 * dx0 + dyz2);
        energy1 += atom.w * rsqrtf(dx1 * dx1 + dyz2);
    }

    unsigned long long at = (unsigned long long)row * width + column;
    energy[at] += energy0;
    energy[at + BLOCK_X] += energy1;
}
