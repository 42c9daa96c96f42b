// What this device can do at most: `peak` computes and never touches memory, `copy` does nothing else.

// 12 vectors that do not depend on each other, so that each fused multiply-add can start before the last ended.
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define START(i) float16 x##i = (float16)(i + 0.5f * get_global_id(0));
#define STEP(i) x##i = fma(x##i, scale, shift);
#define ADD(i) sum += x##i;

__kernel void peak(__global float *out, const int rounds, const float a)
{
    const float16 scale = (float16)(a), shift = (float16)(1.0f - a);
    EACH(START)
    for (int round = 0; round < rounds; round++) { EACH(STEP) }
    float16 sum = (float16)(0.0f);
    EACH(ADD)
    // Stored, so that the compiler cannot drop the work.
    out[get_global_id(0)] = sum.s0 + sum.s5 + sum.sa + sum.sf;
}

__kernel void copy(__global const float4 *source, __global float4 *target)
{
    target[get_global_id(0)] = source[get_global_id(0)];
}
