// arch: compute_75
// nvcc: -fmad=false
// Whitted ray tracing: spheres above a chequered plane, one point light, hard shadows, mirror reflections.
// One thread a pixel. The operations and their order are those of the CPU reference, so images agree bit for bit.

struct Vector {
    float x, y, z;
};

// Two 16-byte loads.
struct Sphere {
    float4 center_radius;
    float4 color_mirror;
};

struct Hit {
    float distance;
    int sphere;
};

#define NO_HIT -1
#define PLANE -2
#define FAR 1e30f
// A ray leaves a surface by this much before it can hit again.
#define NEAR 1e-3f
#define AMBIENT 0.1f
// A reflection that weighs less is not followed.
#define FAINT 0.01f

__device__ __forceinline__ Vector vector(float x, float y, float z)
{
    Vector v = {x, y, z};
    return v;
}

__device__ __forceinline__ Vector along(Vector from, Vector direction, float by)
{
    return vector(from.x + direction.x * by, from.y + direction.y * by, from.z + direction.z * by);
}

__device__ __forceinline__ Vector minus(Vector a, Vector b)
{
    return vector(a.x - b.x, a.y - b.y, a.z - b.z);
}

__device__ __forceinline__ float dot(Vector a, Vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

__device__ __forceinline__ Vector scaled(Vector v, float by)
{
    return vector(v.x * by, v.y * by, v.z * by);
}

// Distance to the near side of a sphere, FAR if the ray passes it or starts inside.
__device__ __forceinline__ float sphere_distance(float4 center_radius, Vector origin, Vector direction)
{
    Vector from_center = minus(origin, vector(center_radius.x, center_radius.y, center_radius.z));
    float half_b = dot(from_center, direction);
    float c = dot(from_center, from_center) - center_radius.w * center_radius.w;
    float discriminant = half_b * half_b - c;
    if (discriminant <= 0.0f)
        return FAR;
    float distance = -half_b - sqrtf(discriminant);
    return distance > NEAR ? distance : FAR;
}

__device__ __forceinline__ Hit nearest_hit(const Sphere *spheres, int sphere_count, Vector origin, Vector direction)
{
    Hit hit = {FAR, NO_HIT};
    for (int i = 0; i < sphere_count; i++) {
        float distance = sphere_distance(spheres[i].center_radius, origin, direction);
        if (distance < hit.distance) {
            hit.distance = distance;
            hit.sphere = i;
        }
    }
    if (direction.y < 0.0f) {
        float distance = -origin.y / direction.y;
        if (distance > NEAR && distance < hit.distance) {
            hit.distance = distance;
            hit.sphere = PLANE;
        }
    }
    return hit;
}

__device__ __forceinline__ bool in_shadow(const Sphere *spheres, int sphere_count, Vector point, Vector to_light,
                                          float light_distance)
{
    for (int i = 0; i < sphere_count; i++)
        if (sphere_distance(spheres[i].center_radius, point, to_light) < light_distance)
            return true;
    return false;
}

__device__ __forceinline__ float4 plane_color_mirror(Vector point)
{
    int field = (int)floorf(point.x) + (int)floorf(point.z);
    return field & 1 ? make_float4(0.1f, 0.1f, 0.1f, 0.2f) : make_float4(0.9f, 0.9f, 0.9f, 0.2f);
}

__device__ __forceinline__ float highlight(float cosine)
{
    float x = cosine * cosine;
    x = x * x;
    x = x * x;
    x = x * x;
    return x * x;
}

extern "C" __global__ void ray_trace(const Sphere *spheres, float4 *image, int sphere_count, int width, int height,
                                     int bounces, float pixel)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;

    Vector origin = vector(0.0f, 2.0f, -7.0f);
    Vector light = vector(-6.0f, 9.0f, -5.0f);
    Vector direction = vector(((float)column + 0.5f - 0.5f * (float)width) * pixel,
                              (0.5f * (float)height - (float)row - 0.5f) * pixel, 1.0f);
    direction = scaled(direction, 1.0f / sqrtf(dot(direction, direction)));

    Vector color = vector(0.0f, 0.0f, 0.0f);
    float weight = 1.0f;
    float depth = 0.0f;
    for (int bounce = 0; bounce <= bounces; bounce++) {
        Hit hit = nearest_hit(spheres, sphere_count, origin, direction);
        if (hit.sphere == NO_HIT) {
            float up = 0.5f * direction.y + 0.5f;
            color = along(color, vector(1.0f - 0.5f * up, 1.0f - 0.25f * up, 1.0f), weight);
            break;
        }
        if (bounce == 0)
            depth = hit.distance;

        Vector point = along(origin, direction, hit.distance);
        Vector normal = vector(0.0f, 1.0f, 0.0f);
        float4 surface;
        if (hit.sphere == PLANE) {
            surface = plane_color_mirror(point);
        } else {
            float4 sphere = spheres[hit.sphere].center_radius;
            normal = scaled(minus(point, vector(sphere.x, sphere.y, sphere.z)), 1.0f / sphere.w);
            surface = spheres[hit.sphere].color_mirror;
        }
        Vector mirrored = along(direction, normal, -2.0f * dot(direction, normal));

        Vector to_light = minus(light, point);
        float light_distance = sqrtf(dot(to_light, to_light));
        to_light = scaled(to_light, 1.0f / light_distance);
        float facing = dot(normal, to_light);
        float lit = AMBIENT;
        if (facing > 0.0f && !in_shadow(spheres, sphere_count, point, to_light, light_distance)) {
            lit = lit + facing;
            float cosine = dot(mirrored, to_light);
            if (cosine > 0.0f)
                color = along(color, vector(1.0f, 1.0f, 1.0f), weight * highlight(cosine));
        }
        color = along(color, vector(surface.x, surface.y, surface.z), weight * (1.0f - surface.w) * lit);

        weight = weight * surface.w;
        if (weight < FAINT)
            break;
        origin = point;
        direction = mirrored;
    }
    image[(size_t)row * width + column] = make_float4(color.x, color.y, color.z, depth);
}
