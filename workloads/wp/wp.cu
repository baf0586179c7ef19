// arch: compute_75
// nvcc: -fmad=false
// Cloud microphysics of a weather model, one thread a column of the atmosphere: rain and snow fall, then every level
// freezes or melts, converts cloud to rain and snow, collects cloud, evaporates rain and returns to saturation. Five kinds
// of water, all as mass mixing ratios (kg per kg of air). Single-moment bulk formulas after Kessler (1969) and Klemp and
// Wilhelmson (1978), with a simple ice phase. Arrays are ordered (south-north, level, west-east), level 0 at the ground.
//
// Every transcendental is built from ordinary arithmetic, so that the CPU reference can do the same operations.

#define GAS_CONSTANT_VAPOUR 461.5f
#define HEAT_CAPACITY 1004.5f
#define HEAT_OF_VAPORISATION 2.5e6f
#define HEAT_OF_FUSION 3.34e5f
#define FREEZING 273.15f
// Below this no liquid cloud exists; between the two temperatures liquid and ice share.
#define ALL_ICE 233.15f
#define SURFACE_AIR_DENSITY 1.225f
// Less rain or snow than this does nothing.
#define TRACE 1e-9f

struct Cell {
    float temperature, vapour, cloud, ice, rain, snow;
};

// 2 to the power x.
__device__ __forceinline__ float power_of_two(float x)
{
    x = x < -126.0f ? -126.0f : x;
    x = x > 126.0f ? 126.0f : x;
    float whole = rintf(x);
    float f = x - whole;
    float p = 1.5403530e-4f;
    p = p * f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    return p * __int_as_float(((int)whole + 127) << 23);
}

// Logarithm to base 2 of a positive normal number.
__device__ __forceinline__ float log_two(float x)
{
    int bits = __float_as_int(x);
    int exponent = (bits - 0x3f3504f3) >> 23;
    float m = __int_as_float(bits - (exponent << 23));
    float s = (m - 1.0f) / (m + 1.0f);
    float s2 = s * s;
    float p = 0.41219858f;
    p = p * s2 + 0.57707802f;
    p = p * s2 + 0.96179669f;
    p = p * s2 + 2.8853901f;
    return p * s + (float)exponent;
}

__device__ __forceinline__ float power(float base, float exponent)
{
    return power_of_two(exponent * log_two(base));
}

__device__ __forceinline__ float lesser(float a, float b)
{
    return a < b ? a : b;
}

// Meters a second, by density of air and of what falls in kg per cubic meter.
__device__ __forceinline__ float rain_speed(float air, float rain)
{
    return 36.34f * power(0.001f * rain, 0.1364f) * sqrtf(SURFACE_AIR_DENSITY / air);
}

__device__ __forceinline__ float snow_speed(float air, float snow)
{
    return 3.1f * power(0.001f * snow, 0.0625f) * sqrtf(SURFACE_AIR_DENSITY / air);
}

// Lets rain or snow fall for one time step, split so that nothing falls through a level at once. Returns what reached the
// ground in kg per square meter.
template <float speed(float, float)>
__device__ __forceinline__ float sediment(float *falling, const float *density_of, const float *thickness_of, long long ground,
                                          int levels, int stride, float seconds)
{
    float levels_crossed = 0.0f;
    long long at = ground;
    for (int level = 0; level < levels; level++, at += stride) {
        float mixing_ratio = falling[at];
        if (mixing_ratio > TRACE) {
            float density = density_of[at];
            float crossed = speed(density, density * mixing_ratio) * seconds / thickness_of[at];
            levels_crossed = crossed > levels_crossed ? crossed : levels_crossed;
        }
    }
    if (levels_crossed == 0.0f)
        return 0.0f;

    int parts = (int)levels_crossed + 1;
    float part_seconds = seconds / (float)parts;
    float on_ground = 0.0f;
    for (int part = 0; part < parts; part++) {
        float from_above = 0.0f;
        at = ground + (long long)(levels - 1) * stride;
        for (int level = 0; level < levels; level++, at -= stride) {
            float mixing_ratio = falling[at];
            float leaving = 0.0f;
            if (mixing_ratio > TRACE || from_above > 0.0f) {
                float density = density_of[at];
                float thickness = thickness_of[at];
                if (mixing_ratio > TRACE) {
                    float share = speed(density, density * mixing_ratio) * part_seconds / thickness;
                    leaving = lesser(share, 1.0f) * (density * mixing_ratio * thickness);
                }
                falling[at] = mixing_ratio + (from_above - leaving) / (density * thickness);
            }
            from_above = leaving;
        }
        on_ground = on_ground + from_above;
    }
    return on_ground;
}

// Moves water into a kind with less energy and warms the air by the heat, or with a negative amount the reverse.
__device__ __forceinline__ void warm(Cell &cell, float amount, float heat)
{
    cell.temperature = cell.temperature + amount * (heat / HEAT_CAPACITY);
}

__device__ __forceinline__ void melt(Cell &cell)
{
    float possible = (cell.temperature - FREEZING) * (HEAT_CAPACITY / HEAT_OF_FUSION);
    float melted = lesser(cell.ice, possible);
    cell.ice = cell.ice - melted;
    cell.cloud = cell.cloud + melted;
    warm(cell, -melted, HEAT_OF_FUSION);
    melted = lesser(cell.snow, 0.5f * (possible - melted));
    cell.snow = cell.snow - melted;
    cell.rain = cell.rain + melted;
    warm(cell, -melted, HEAT_OF_FUSION);
}

__device__ __forceinline__ void freeze(Cell &cell)
{
    float possible = (ALL_ICE - cell.temperature) * (HEAT_CAPACITY / HEAT_OF_FUSION);
    float frozen = lesser(cell.cloud, possible);
    cell.cloud = cell.cloud - frozen;
    cell.ice = cell.ice + frozen;
    warm(cell, frozen, HEAT_OF_FUSION);
    frozen = lesser(cell.rain, possible - frozen);
    cell.rain = cell.rain - frozen;
    cell.snow = cell.snow + frozen;
    warm(cell, frozen, HEAT_OF_FUSION);
}

// Autoconversion: dense cloud begins to rain, dense ice cloud to snow.
__device__ __forceinline__ void begin_precipitation(Cell &cell, float seconds)
{
    if (cell.cloud > 5e-4f) {
        float converted = lesser(cell.cloud, 1e-3f * (cell.cloud - 5e-4f) * seconds);
        cell.cloud = cell.cloud - converted;
        cell.rain = cell.rain + converted;
    }
    if (cell.ice > 1e-4f) {
        float converted = lesser(cell.ice, 1e-3f * (cell.ice - 1e-4f) * seconds);
        cell.ice = cell.ice - converted;
        cell.snow = cell.snow + converted;
    }
}

// Accretion: what falls takes cloud along.
__device__ __forceinline__ void collect(Cell &cell, float seconds)
{
    if (cell.rain > TRACE && cell.cloud > 0.0f) {
        float collected = lesser(cell.cloud, 2.2f * cell.cloud * power(cell.rain, 0.875f) * seconds);
        cell.cloud = cell.cloud - collected;
        cell.rain = cell.rain + collected;
    }
    if (cell.snow > TRACE && (cell.cloud > 0.0f || cell.ice > 0.0f)) {
        float share = lesser(1.0f, power(cell.snow, 0.875f) * seconds);
        float riming = cell.cloud * share;
        float aggregating = cell.ice * (0.5f * share);
        cell.cloud = cell.cloud - riming;
        cell.ice = cell.ice - aggregating;
        cell.snow = cell.snow + aggregating;
        if (cell.temperature < FREEZING) {
            cell.snow = cell.snow + riming;
            warm(cell, riming, HEAT_OF_FUSION);
        } else {
            cell.rain = cell.rain + riming;
        }
    }
}

// Share of cloud that is liquid.
__device__ __forceinline__ float liquid_share(float temperature)
{
    float share = (temperature - ALL_ICE) * (1.0f / (FREEZING - ALL_ICE));
    return share < 0.0f ? 0.0f : lesser(share, 1.0f);
}

// Mixing ratio at which vapour is saturated over what cloud consists of at this temperature.
__device__ __forceinline__ float saturated(float temperature, float liquid, float pressure)
{
    float over_water = 0.0f;
    if (liquid > 0.0f)
        over_water = 611.2f * power_of_two(25.492421f * (temperature - 273.15f) / (temperature - 29.65f));
    float over_ice = 0.0f;
    if (liquid < 1.0f)
        over_ice = 611.2f * power_of_two(31.558317f * (temperature - 273.16f) / (temperature - 7.66f));
    float vapour_pressure = liquid * over_water + (1.0f - liquid) * over_ice;
    vapour_pressure = lesser(vapour_pressure, 0.5f * pressure);
    return 0.622f * vapour_pressure / (pressure - vapour_pressure);
}

__device__ __forceinline__ void evaporate_rain(Cell &cell, float saturation, float pressure, float density, float seconds)
{
    if (cell.rain <= TRACE || cell.vapour >= saturation)
        return;
    // The formula takes grams per cubic centimeter and hectopascals.
    float air = 0.001f * density;
    float water = air * cell.rain;
    float ventilation = 1.6f + 124.9f * power(water, 0.2046f);
    float rate = (1.0f - cell.vapour / saturation) * ventilation * power(water, 0.525f) /
                 (air * (5.4e5f + 2.55e6f / (0.01f * pressure * saturation)));
    float evaporated = lesser(lesser(cell.rain, rate * seconds), 0.5f * (saturation - cell.vapour));
    cell.rain = cell.rain - evaporated;
    cell.vapour = cell.vapour + evaporated;
    warm(cell, -evaporated, HEAT_OF_VAPORISATION);
}

// One Newton step towards saturation: vapour condenses, or cloud evaporates as far as there is any.
__device__ __forceinline__ void adjust(Cell &cell, float saturation, float liquid)
{
    float heat = HEAT_OF_VAPORISATION + (1.0f - liquid) * HEAT_OF_FUSION;
    float slope = heat * heat * saturation /
                  (HEAT_CAPACITY * GAS_CONSTANT_VAPOUR * cell.temperature * cell.temperature);
    float excess = (cell.vapour - saturation) / (1.0f + slope);
    if (excess > 0.0f) {
        cell.vapour = cell.vapour - excess;
        cell.cloud = cell.cloud + excess * liquid;
        cell.ice = cell.ice + excess * (1.0f - liquid);
        warm(cell, excess, heat);
        return;
    }
    float from_cloud = lesser(cell.cloud, -excess);
    cell.cloud = cell.cloud - from_cloud;
    cell.vapour = cell.vapour + from_cloud;
    warm(cell, -from_cloud, HEAT_OF_VAPORISATION);
    float from_ice = lesser(cell.ice, -excess - from_cloud);
    cell.ice = cell.ice - from_ice;
    cell.vapour = cell.vapour + from_ice;
    warm(cell, -from_ice, HEAT_OF_VAPORISATION + HEAT_OF_FUSION);
}

extern "C" __global__ void wp_step(const float *exner_of, const float *pressure_of, const float *density_of,
                                   const float *thickness_of, float *theta, float *vapour, float *cloud, float *ice,
                                   float *rain, float *snow, float *rain_on_ground, float *snow_on_ground,
                                   int west_east, int south_north, int levels, float seconds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= west_east || j >= south_north)
        return;
    long long column = (long long)j * west_east + i;
    long long at = (long long)j * levels * west_east + i;

    float rained = sediment<rain_speed>(rain, density_of, thickness_of, at, levels, west_east, seconds);
    rain_on_ground[column] = rain_on_ground[column] + rained;
    float snowed = sediment<snow_speed>(snow, density_of, thickness_of, at, levels, west_east, seconds);
    snow_on_ground[column] = snow_on_ground[column] + snowed;

    for (int level = 0; level < levels; level++, at += west_east) {
        float exner = exner_of[at];
        float pressure = pressure_of[at];
        Cell cell = {theta[at] * exner, vapour[at], cloud[at], ice[at], rain[at], snow[at]};

        if (cell.temperature > FREEZING)
            melt(cell);
        else if (cell.temperature < ALL_ICE)
            freeze(cell);
        begin_precipitation(cell, seconds);
        collect(cell, seconds);
        float liquid = liquid_share(cell.temperature);
        float saturation = saturated(cell.temperature, liquid, pressure);
        evaporate_rain(cell, saturation, pressure, density_of[at], seconds);
        adjust(cell, saturation, liquid);

        theta[at] = cell.temperature / exner;
        vapour[at] = cell.vapour;
        cloud[at] = cell.cloud;
        ice[at] = cell.ice;
        rain[at] = cell.rain;
        snow[at] = cell.snow;
    }
}
