// Ten small programs of the kind that textbooks have: recursion, function pointers, virtual functions, lists and trees made by
// kernels, tensor cores. Each compares its results with the CPU.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

#include "expect.cuh"

template <typename T> struct Buffer {
    T *at;
    int count;
    Buffer(int count) : count(count) { OK(cudaMallocManaged((void **)&at, count * sizeof(T))); }
    ~Buffer() { OK(cudaFree(at)); }
    T &operator[](int index) { return at[index]; }
};

static unsigned next_random() {
    static unsigned state = 12345;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

// 1. Quicksort: each thread sorts a part of its own, by recursion.
__device__ void quicksort(int *values, int low, int high) {
    if (low >= high) return;
    int pivot = values[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (values[i] < pivot) i++;
        while (values[j] > pivot) j--;
        if (i <= j) {
            int other = values[i];
            values[i++] = values[j];
            values[j--] = other;
        }
    }
    quicksort(values, low, j);
    quicksort(values, i, high);
}
__global__ void sort_parts(int *values, int part) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    quicksort(values + t * part, 0, part - 1);
}
static void sorting() {
    const int part = 24, parts = 64;
    Buffer<int> values(part * parts);
    std::vector<int> wanted(part * parts);
    for (int i = 0; i < part * parts; i++) wanted[i] = values[i] = next_random() % 1000;
    sort_parts<<<2, parts / 2>>>(values.at, part);
    OK(cudaDeviceSynchronize());
    for (int p = 0; p < parts; p++) std::sort(wanted.begin() + p * part, wanted.begin() + (p + 1) * part);
    EXPECT(std::equal(wanted.begin(), wanted.end(), values.at));
}

// 2. Shapes: one kernel makes objects, another calls their virtual functions, a third deletes them.
struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
};
struct Disc : Shape {
    float radius;
    __device__ Disc(float radius) : radius(radius) {}
    __device__ float area() const override { return 3.0f * radius * radius; }
};
struct Rectangle : Shape {
    float width, height;
    __device__ Rectangle(float width, float height) : width(width), height(height) {}
    __device__ float area() const override { return width * height; }
};
__global__ void make_shapes(Shape **shapes) {
    int t = threadIdx.x;
    shapes[t] = t % 3 ? (Shape *)new Rectangle(t, 2) : (Shape *)new Disc(t);
}
__global__ void measure(Shape **shapes, float *areas) { areas[threadIdx.x] = shapes[threadIdx.x]->area(); }
__global__ void delete_shapes(Shape **shapes) { delete shapes[threadIdx.x]; }
static void shapes() {
    Buffer<Shape *> made(64);
    Buffer<float> areas(64);
    make_shapes<<<1, 64>>>(made.at);
    measure<<<1, 64>>>(made.at, areas.at);
    delete_shapes<<<1, 64>>>(made.at);
    OK(cudaDeviceSynchronize());
    for (int t = 0; t < 64; t++) EXPECT(areas[t] == (t % 3 ? t * 2.0f : 3.0f * t * t));
}

// 3. A table of functions, and a pointer that the host copies and hands to a kernel.
typedef float (*Unary)(float);
__device__ float negate(float x) { return -x; }
__device__ float square(float x) { return x * x; }
__device__ float third(float x) { return x / 4; }
__device__ Unary table[3] = {negate, square, third};
__device__ Unary handed = square;
__global__ void apply(float *values, Unary from_host) {
    int t = threadIdx.x;
    values[t] = table[t % 3](values[t]) + from_host(t);
}
static void function_pointers() {
    Buffer<float> values(96);
    for (int t = 0; t < 96; t++) values[t] = t * 0.5f;
    Unary on_host = nullptr;
    OK(cudaMemcpyFromSymbol(&on_host, handed, sizeof(on_host)));
    apply<<<1, 96>>>(values.at, on_host);
    OK(cudaDeviceSynchronize());
    for (int t = 0; t < 96; t++) {
        float x = t * 0.5f, y = t % 3 == 0 ? -x : t % 3 == 1 ? x * x : x / 4;
        EXPECT(values[t] == y + (float)t * t);
    }
}

// 4. A list that all blocks push to, with nodes of the kernel's heap.
struct Node {
    int value;
    Node *next;
};
__device__ Node *head;
__global__ void push(int by) {
    Node *node = new Node{(int)(threadIdx.x + blockIdx.x * blockDim.x) * by, nullptr};
    Node *seen = head;
    do {
        node->next = seen;
        seen = (Node *)atomicCAS((unsigned long long *)&head, (unsigned long long)node->next, (unsigned long long)node);
    } while (seen != node->next);
}
__global__ void drain(long long *sum, int *count) {
    while (head) {
        Node *next = head->next;
        *sum += head->value;
        ++*count;
        delete head;
        head = next;
    }
}
static void lists() {
    Buffer<long long> sum(1);
    Buffer<int> count(1);
    sum[0] = count[0] = 0;
    push<<<4, 64>>>(3);
    push<<<2, 64>>>(-1);
    drain<<<1, 1>>>(sum.at, count.at);
    OK(cudaDeviceSynchronize());
    EXPECT(count[0] == 384 && sum[0] == 3 * 255 * 256 / 2 - 127 * 128 / 2);
}

// 5. A search tree: threads insert with compare-and-swap, one walks it by recursion.
struct Leaf {
    int key;
    Leaf *children[2];
};
__device__ Leaf *root;
__global__ void insert(const int *keys) {
    Leaf *leaf = new Leaf{keys[threadIdx.x + blockIdx.x * blockDim.x], {nullptr, nullptr}};
    Leaf **place = &root;
    while (Leaf *other = (Leaf *)atomicCAS((unsigned long long *)place, 0ull, (unsigned long long)leaf))
        place = &other->children[leaf->key > other->key];
}
__device__ int walk(Leaf *leaf, int *to, int at) {
    if (!leaf) return at;
    at = walk(leaf->children[0], to, at);
    to[at++] = leaf->key;
    return walk(leaf->children[1], to, at);
}
__global__ void walk_all(int *to, int *count) { *count = walk(root, to, 0); }
static void trees() {
    Buffer<int> keys(128), sorted(128), count(1);
    for (int i = 0; i < 128; i++) keys[i] = (i * 37 + 5) % 128;
    insert<<<2, 64>>>(keys.at);
    walk_all<<<1, 1>>>(sorted.at, count.at);
    OK(cudaDeviceSynchronize());
    EXPECT(count[0] == 128);
    for (int i = 0; i < 128; i++) EXPECT(sorted[i] == i);
}

// 6. Towers of Hanoi: the moves that each thread makes, to another depth each.
__device__ unsigned hanoi(int discs, int from, int to, int over, unsigned moves) {
    if (discs == 0) return moves;
    moves = hanoi(discs - 1, from, over, to, moves);
    moves = moves * 7 + from * 3 + to;
    return hanoi(discs - 1, over, to, from, moves);
}
static unsigned hanoi_on_host(int discs, int from, int to, int over, unsigned moves) {
    if (discs == 0) return moves;
    moves = hanoi_on_host(discs - 1, from, over, to, moves);
    moves = moves * 7 + from * 3 + to;
    return hanoi_on_host(discs - 1, over, to, from, moves);
}
__global__ void towers(unsigned *out) { out[threadIdx.x] = hanoi(threadIdx.x % 9, 0, 2, 1, 1); }
static void towers_of_hanoi() {
    Buffer<unsigned> out(32);
    towers<<<1, 32>>>(out.at);
    OK(cudaDeviceSynchronize());
    for (int t = 0; t < 32; t++) EXPECT(out[t] == hanoi_on_host(t % 9, 0, 2, 1, 1));
}

// 7. Queens on a board, by backtracking: thread t has put the first two.
__device__ int queens(int size, int row, unsigned columns, unsigned left, unsigned right) {
    if (row == size) return 1;
    int found = 0;
    for (int column = 0; column < size; column++) {
        unsigned bit = 1u << column;
        if ((columns | left | right) & bit) continue;
        found += queens(size, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return found;
}
__global__ void place_queens(int size, int *found) {
    int first = threadIdx.x / size, second = threadIdx.x % size;
    if (abs(first - second) < 2) return;
    unsigned a = 1u << first, b = 1u << second;
    atomicAdd(found, queens(size, 2, a | b, (a << 1 | b) << 1, (a >> 1 | b) >> 1));
}
static void eight_queens() {
    Buffer<int> found(1);
    found[0] = 0;
    place_queens<<<1, 64>>>(8, found.at);
    OK(cudaDeviceSynchronize());
    EXPECT(found[0] == 92);
}

// 8. Expressions: trees of objects on the heap, evaluated by virtual functions that call each other.
struct Term {
    __device__ virtual ~Term() {}
    __device__ virtual int value(int x) const = 0;
};
struct Variable : Term {
    __device__ int value(int x) const override { return x; }
};
struct Constant : Term {
    int number;
    __device__ Constant(int number) : number(number) {}
    __device__ int value(int) const override { return number; }
};
struct Pair : Term {
    Term *left, *right;
    __device__ Pair(Term *left, Term *right) : left(left), right(right) {}
    __device__ ~Pair() override {
        delete left;
        delete right;
    }
};
struct Sum : Pair {
    __device__ Sum(Term *left, Term *right) : Pair(left, right) {}
    __device__ int value(int x) const override { return left->value(x) + right->value(x); }
};
struct Product : Pair {
    __device__ Product(Term *left, Term *right) : Pair(left, right) {}
    __device__ int value(int x) const override { return left->value(x) * right->value(x); }
};
// Horner's rule: (((x + 1) x + 2) x + ...).
__device__ Term *polynomial(int degree) {
    if (degree == 0) return new Variable;
    return new Sum(new Product(polynomial(degree - 1), new Variable), new Constant(degree));
}
__global__ void evaluate(int *out) {
    Term *term = polynomial(threadIdx.x % 4);
    out[threadIdx.x] = term->value(threadIdx.x % 5);
    delete term;
}
static void expressions() {
    Buffer<int> out(64);
    evaluate<<<1, 64>>>(out.at);
    OK(cudaDeviceSynchronize());
    for (int t = 0; t < 64; t++) {
        int x = t % 5, wanted = x;
        for (int degree = 1; degree <= t % 4; degree++) wanted = wanted * x + degree;
        EXPECT(out[t] == wanted);
    }
}

// 9. Flood fill, which recurses deeply: more stack.
__device__ void fill(char *picture, int width, int at, int *filled) {
    if (picture[at] != '.') return;
    picture[at] = '#';
    ++*filled;
    fill(picture, width, at + 1, filled);
    fill(picture, width, at - 1, filled);
    fill(picture, width, at + width, filled);
    fill(picture, width, at - width, filled);
}
__global__ void flood(char *picture, int width, int at, int *filled) { fill(picture, width, at, filled); }
static void flood_fill() {
    const int width = 16;
    Buffer<char> picture(width * width);
    Buffer<int> filled(1);
    filled[0] = 0;
    int wanted = 0;
    for (int i = 0; i < width * width; i++) {
        bool border = i % width == 0 || i % width == width - 1 || i / width == 0 || i / width == width - 1;
        // A wall with a gap at its end.
        bool wall = i % width == 8 && i / width < width - 2;
        picture[i] = border || wall ? 'x' : '.';
        wanted += !border && !wall;
    }
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10));
    flood<<<1, 1>>>(picture.at, width, width + 1, filled.at);
    OK(cudaDeviceSynchronize());
    EXPECT(filled[0] == wanted);
}

// 10. A product of matrices on tensor cores: each warp has a tile of the result.
__global__ void multiply(const half *a, const half *b, float *c, int size) {
    using namespace nvcuda;
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int k = 0; k < size; k += 16) {
        wmma::load_matrix_sync(left, a + row * size + k, size);
        wmma::load_matrix_sync(right, b + column * size + k, size);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 2;
    wmma::store_matrix_sync(c + row * size + column, sum, size, wmma::mem_row_major);
}
static void matrices() {
    const int size = 48;
    Buffer<half> a(size * size), b(size * size);
    Buffer<float> c(size * size);
    for (int i = 0; i < size * size; i++) {
        a[i] = __float2half((float)((int)(next_random() % 17) - 8));
        b[i] = __float2half((float)((int)(next_random() % 17) - 8));
    }
    multiply<<<dim3(size / 16, size / 16), 32>>>(a.at, b.at, c.at, size);
    OK(cudaDeviceSynchronize());
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            float wanted = 1;
            for (int k = 0; k < size; k++)
                wanted += __half2float(a[row * size + k]) * __half2float(b[column * size + k]);
            EXPECT(c[row * size + column] == 2 * wanted);
        }
}

int main() {
    sorting();
    shapes();
    function_pointers();
    lists();
    trees();
    towers_of_hanoi();
    eight_queens();
    expressions();
    flood_fill();
    matrices();
    printf("samples, %d wrong\n", wrong);
}
