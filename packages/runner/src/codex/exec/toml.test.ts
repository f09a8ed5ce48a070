import { describe, expect, test } from 'vitest'
import { toToml } from './toml.ts'

describe('TOML for an override', () => {
  test.each([
    ['plain', '"plain"'],
    ['say "hi"\n\\ \t', '"say \\"hi\\"\\n\\\\ \\t"'],
    ['\u007f\u0000', '"\\u007f\\u0000"'],
    ['é 😀', '"é 😀"'],
    [12, '12'],
    [1.5, '1.5'],
    [true, 'true'],
    [[1, 'two', [true]], '[1, "two", [true]]'],
    [{ 'a.b': { c: 1 }, gone: undefined, none: null }, '{ "a.b" = { "c" = 1 } }'],
  ])('%j', (value, toml) => {
    expect(toToml(value)).toBe(toml)
  })

  test.each([undefined, null, Symbol('x')])('%s has no form', value => {
    expect(() => toToml(value)).toThrow(TypeError)
  })
})
