export interface Sample {
  minutes: number
  heapMb: number
  nodes: number
  listeners: number
}

/** The straight line through all of them, by least squares: one sample that is off does not decide. */
export function slopePerMinute(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const x = mean(samples.map(({ minutes }) => minutes))
  const y = mean(samples.map(of))
  const up = samples.reduce((sum, sample) => sum + (sample.minutes - x) * (of(sample) - y), 0)
  const across = samples.reduce((sum, { minutes }) => sum + (minutes - x) ** 2, 0)
  return across === 0 ? 0 : up / across
}
