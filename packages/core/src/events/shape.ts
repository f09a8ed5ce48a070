// Describes JSON values once. Types of events, the check of a line of a log and the schema of the API are derived from
// the descriptions. A validation library would do the same, but core has no dependencies: zod takes 45 ms of CPU to load,
// which each command and each page would spend, also one that checks nothing.

/** A description of values of the type `T`. */
export type Shape<T = unknown> = Kind & {
  /** For readers of the API. */
  about?: string
  isNullable?: true
  isOptional?: true
  /** Never set; carries the type. */
  readonly value?: T
}

export type Kind =
  | { is: 'text' | 'number' | 'flag' | 'record' | 'anything' | 'absent' }
  | { is: 'name'; names: readonly string[] }
  | { is: 'list'; of: Shape }
  | { is: 'object'; fields: Readonly<Record<string, Shape>>; id?: string }
  | { is: 'either'; of: readonly Shape[] }

export type ValueOf<S> = S extends { readonly value?: infer T } ? T : never

export type Optional<T> = Shape<T> & { isOptional: true }

type ObjectOf<F> = Flat<
  { [K in keyof F as F[K] extends { isOptional: true } ? never : K]: ValueOf<F[K]> } & {
    [K in keyof F as F[K] extends { isOptional: true } ? K : never]?: ValueOf<F[K]>
  }
>

type Flat<T> = { [K in keyof T]: T[K] }

export const text: Shape<string> = { is: 'text' }
export const number: Shape<number> = { is: 'number' }
export const flag: Shape<boolean> = { is: 'flag' }
export const record: Shape<Record<string, unknown>> = { is: 'record' }
export const anything: Shape<unknown> = { is: 'anything' }
/** A field that another alternative of `either` has. */
export const absent: Optional<undefined> = { is: 'absent', isOptional: true }

export function oneOf<const N extends string>(...names: N[]): Shape<N> {
  return { is: 'name', names }
}

export function list<T>(of: Shape<T>): Shape<T[]> {
  return { is: 'list', of }
}

/** With an id it has a name of its own in the schema of the API. */
export function object<F extends Readonly<Record<string, Shape>>>(
  fields: F,
  id?: string,
): Shape<ObjectOf<F>> {
  return { is: 'object', fields, ...(id === undefined ? {} : { id }) }
}

export function either<A, B>(...of: [Shape<A>, Shape<B>]): Shape<A | B> {
  return { is: 'either', of }
}

export function optional<T>(shape: Shape<T>): Optional<T> {
  return { ...shape, isOptional: true }
}

export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return { ...shape, isNullable: true } as Shape<T | null>
}

export function described<S extends Shape>(shape: S, about: string): S {
  return { ...shape, about }
}

/** Whether a value has the parts that a reader relies on. Further fields are allowed. */
export type Check = (value: unknown) => boolean

/**
 * Compiles the check of a shape. A name that is not in the list passes: a later version may know more of them, and one
 * such event must not make a session unreadable.
 */
export function checkOf(shape: Shape): Check {
  const check = plainCheck(shape)
  const { isOptional, isNullable } = shape
  if (isOptional && isNullable) return value => value === undefined || value === null || check(value)
  if (isOptional) return value => value === undefined || check(value)
  if (isNullable) return value => value === null || check(value)
  return check
}

function plainCheck(shape: Shape): Check {
  switch (shape.is) {
    case 'text':
    case 'name':
      return value => typeof value === 'string'
    case 'number':
      return value => typeof value === 'number'
    case 'flag':
      return value => typeof value === 'boolean'
    case 'record':
      return isObject
    case 'anything':
      return () => true
    case 'absent':
      return value => value === undefined
    case 'list': {
      const check = checkOf(shape.of)
      return shape.of.is === 'anything'
        ? Array.isArray
        : value => Array.isArray(value) && value.every(entry => check(entry))
    }
    case 'object':
      return objectCheck(shape.fields)
    case 'either': {
      const checks = shape.of.map(checkOf)
      return value => checks.some(check => check(value))
    }
  }
}

function objectCheck(fields: Readonly<Record<string, Shape>>): Check {
  const checked = Object.entries(fields).filter(([, { is }]) => is !== 'anything')
  const names = checked.map(([name]) => name)
  const checks = checked.map(([, shape]) => checkOf(shape))
  return value => {
    if (!isObject(value)) return false
    for (let at = 0; at < names.length; at += 1) if (!checks[at]?.(value[names[at] as string])) return false
    return true
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
