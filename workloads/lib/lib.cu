// arch: compute_75
// LIBOR market model: the value of a portfolio of swaptions along Monte Carlo paths, and, in the first of the two kernels,
// its sensitivity to the longest forward rate by the adjoint method (Giles and Glasserman, "Smoking adjoints", 2006).

#define RATES 80
#define STEPS 40
#define SWAP_RATES (RATES - STEPS)
#define OPTIONS 15
#define STEP_YEARS 0.25f
#define VOLATILITY 0.2f
#define INITIAL_RATE 0.05f
#define NOTIONAL 100.0f

// The loops below are kept rolled: unrolled, their arrays would leave local memory for hundreds of registers.

__constant__ int maturities[OPTIONS] = {4, 4, 4, 8, 8, 8, 20, 20, 20, 28, 28, 28, 40, 40, 40};
__constant__ float swap_rates[OPTIONS] = {0.045f, 0.05f, 0.055f, 0.045f, 0.05f, 0.055f, 0.045f, 0.05f,
                                          0.055f, 0.045f, 0.05f, 0.055f, 0.045f, 0.05f, 0.055f};

// 32 hashed bits (the PCG permutation of Jarzynski and Olano, 2020).
__device__ static unsigned hash(unsigned input)
{
    unsigned state = input * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

__device__ static unsigned sum_of_bytes(unsigned word)
{
    return (word & 0xff) + (word >> 8 & 0xff) + (word >> 16 & 0xff) + (word >> 24);
}

// A normal number as the sum of twelve uniform bytes, whose mean is 1530 and whose deviation is 256 within 1e-5. Exact in float.
__device__ static float normal(unsigned seed, unsigned path, unsigned step)
{
    unsigned key = hash(hash(path ^ seed) + step);
    unsigned sum = sum_of_bytes(hash(key)) + sum_of_bytes(hash(key + 1)) + sum_of_bytes(hash(key + 2));
    return ((int)sum - 1530) * (1.0f / 256.0f);
}

// Moves the rates that have not been fixed yet over step `step`.
__device__ static void evolve(float *rate, int step, float z)
{
    const float shift = STEP_YEARS * VOLATILITY;
    float shock = VOLATILITY * (sqrtf(STEP_YEARS) * z - 0.5f * shift);
    float drift = 0.0f;
#pragma unroll 1
    for (int i = step + 1; i < RATES; i++) {
        drift += shift * rate[i] / (1.0f + STEP_YEARS * rate[i]);
        rate[i] *= expf(shift * drift + shock);
    }
}

// Bond prices and annuities of the rates alive at the end of the path.
__device__ static void price_bonds(const float *rate, float *bond, float *annuity)
{
    float price = 1.0f;
    float sum = 0.0f;
#pragma unroll 1
    for (int m = 0; m < SWAP_RATES; m++) {
        price /= 1.0f + STEP_YEARS * rate[STEPS + m];
        sum += STEP_YEARS * price;
        bond[m] = price;
        annuity[m] = sum;
    }
}

__device__ static float discount(const float *rate)
{
    float factor = 1.0f;
#pragma unroll 1
    for (int i = 0; i < STEPS; i++)
        factor /= 1.0f + STEP_YEARS * rate[i];
    return factor;
}

// The adjoint of the portfolio: its sensitivity to every rate at the end of the path. Returns the value.
__device__ static float value_with_adjoint(const float *rate, float *rate_bar)
{
    float bond[SWAP_RATES], annuity[SWAP_RATES], bond_bar[SWAP_RATES], annuity_bar[SWAP_RATES];
    price_bonds(rate, bond, annuity);
#pragma unroll 4
    for (int m = 0; m < SWAP_RATES; m++) {
        bond_bar[m] = 0.0f;
        annuity_bar[m] = 0.0f;
    }
    float payoff = 0.0f;
#pragma unroll 1
    for (int i = 0; i < OPTIONS; i++) {
        int m = maturities[i] - 1;
        float swap = bond[m] + swap_rates[i] * annuity[m] - 1.0f;
        if (swap < 0.0f) {
            payoff -= NOTIONAL * swap;
            bond_bar[m] -= NOTIONAL;
            annuity_bar[m] -= NOTIONAL * swap_rates[i];
        }
    }

    float factor = discount(rate);
    float value = payoff * factor;
#pragma unroll 1
    for (int i = 0; i < STEPS; i++)
        rate_bar[i] = -value * STEP_YEARS / (1.0f + STEP_YEARS * rate[i]);
    float price_bar = 0.0f;
    float sum_bar = 0.0f;
#pragma unroll 1
    for (int m = SWAP_RATES - 1; m >= 0; m--) {
        float growth = 1.0f + STEP_YEARS * rate[STEPS + m];
        sum_bar += annuity_bar[m];
        price_bar += bond_bar[m] + STEP_YEARS * sum_bar;
        rate_bar[STEPS + m] = -factor * price_bar * bond[m] * STEP_YEARS / growth;
        price_bar /= growth;
    }
    return value;
}

// The adjoint of `evolve`: from sensitivities to the rates after the step to sensitivities to those before it.
__device__ static void evolve_adjoint(const float *before, const float *after, int step, float *rate_bar)
{
    const float shift = STEP_YEARS * VOLATILITY;
    float drift_bar = 0.0f;
#pragma unroll 1
    for (int i = RATES - 1; i > step; i--) {
        float growth = 1.0f + STEP_YEARS * before[i];
        float scaled = rate_bar[i] * after[i];
        drift_bar += shift * scaled;
        rate_bar[i] = scaled / before[i] + drift_bar * shift / (growth * growth);
    }
}

extern "C" __global__ void libor_value_and_delta(float *value, float *delta, unsigned paths, unsigned seed)
{
    unsigned path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths)
        return;
    // The rates before every step and after the last: the adjoint runs backwards through them.
    float rates[(STEPS + 1) * RATES];
    float rate_bar[RATES];
#pragma unroll 4
    for (int i = 0; i < RATES; i++)
        rates[i] = INITIAL_RATE;
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
        float *after = rates + (step + 1) * RATES;
#pragma unroll 4
        for (int i = 0; i < RATES; i++)
            after[i] = rates[step * RATES + i];
        evolve(after, step, normal(seed, path, step));
    }
    value[path] = value_with_adjoint(rates + STEPS * RATES, rate_bar);
#pragma unroll 1
    for (int step = STEPS - 1; step >= 0; step--)
        evolve_adjoint(rates + step * RATES, rates + (step + 1) * RATES, step, rate_bar);
    delta[path] = rate_bar[RATES - 1];
}

extern "C" __global__ void libor_value(float *value, unsigned paths, unsigned seed)
{
    unsigned path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= paths)
        return;
    float rate[RATES];
    float bond[SWAP_RATES], annuity[SWAP_RATES];
#pragma unroll 4
    for (int i = 0; i < RATES; i++)
        rate[i] = INITIAL_RATE;
#pragma unroll 1
    for (int step = 0; step < STEPS; step++)
        evolve(rate, step, normal(seed, path, step));
    price_bonds(rate, bond, annuity);
    float payoff = 0.0f;
#pragma unroll 1
    for (int i = 0; i < OPTIONS; i++) {
        int m = maturities[i] - 1;
        float swap = bond[m] + swap_rates[i] * annuity[m] - 1.0f;
        if (swap < 0.0f)
            payoff -= NOTIONAL * swap;
    }
    value[path] = payoff * discount(rate);
}
