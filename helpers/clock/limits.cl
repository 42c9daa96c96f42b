// What this device can do at most: `peak` computes and never touches memory, `copy` does nothing else.
// LANES floats fill one vector register. (Wider vectors would need two, and 12 of these do not fit: they are spilled.)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define floatv JOIN(float, LANES)

// 12 vectors that do not depend on each other, so that each fused multiply-add can start before the last ended.
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(i) floatv x##i = (floatv)(i + 0.5f * get_global_id(0));
#define STEP(i) x##i = fma(x##i, scale, shift);
#define ADD(i) sum += x##i;

__kernel void peak(__global float *out, const int rounds, const float a)
{
    const floatv scale = (floatv)(a), shift = (floatv)(1.0f - a);
    EACH(START)
    for (int round = 0; round < rounds; round++) { EACH(STEP) }
    floatv sum = (floatv)(0.0f);
    EACH(ADD)
    // Stored, so that the compiler cannot drop the work.
    JOIN(vstore, LANES)(sum, get_global_id(0), out);
}

__kernel void copy(__global const float4 *source, __global float4 *target)
{
    target[get_global_id(0)] = source[get_global_id(0)];
}
