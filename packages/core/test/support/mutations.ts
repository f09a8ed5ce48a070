import fc from 'fast-check'

type Path = (string | number)[]
type Change = { drop: true } | { drop: false; value: unknown }

/** A line of the corpus with up to three of its fields missing or wrong. */
export function mutatedLine(corpus: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc
    .constantFrom(...corpus)
    .chain(line =>
      fc
        .array(fc.record({ path: fc.constantFrom(...pathsOf(line)), change: change() }), { maxLength: 3 })
        .map(mutations =>
          mutations.reduce<unknown>((value, { path, change }) => mutate(value, path, change), line),
        ),
    )
}

function change(): fc.Arbitrary<Change> {
  return fc.oneof(
    fc.constant<Change>({ drop: true }),
    fc
      .oneof(
        fc.constantFrom(null, '', 0, -1, true, [], {}, '__proto__', 1e308),
        fc.jsonValue({ maxDepth: 2 }),
      )
      .map((value): Change => ({ drop: false, value })),
  )
}

function pathsOf(value: unknown, prefix: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return prefix.length > 0 ? [prefix] : []
  const keys: Path = Array.isArray(value) ? [...value.keys()] : Object.keys(value)
  const inner = keys.flatMap(key =>
    pathsOf((value as Record<string | number, unknown>)[key], [...prefix, key]),
  )
  return prefix.length > 0 ? [prefix, ...inner] : inner
}

function mutate(value: unknown, [key, ...rest]: Path, change: Change): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      if (index !== key) return [item]
      if (rest.length > 0) return [mutate(item, rest, change)]
      return change.drop ? [] : [change.value]
    })
  }
  const { [key]: old, ...others } = value as Record<string | number, unknown>
  if (rest.length > 0) return { ...others, [key]: mutate(old, rest, change) }
  return change.drop ? others : { ...others, [key]: change.value }
}
