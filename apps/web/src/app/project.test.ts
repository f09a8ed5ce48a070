import { expect, test } from 'vitest'
import { fromSlug, toSlug } from './project.ts'

test.each(['/code/parser-kit', '/home/me/.config/my.app', '/tmp/Ünïcödé 漢字', '/a?b#c%2F'])(
  '%s is one part of an address',
  root => {
    expect(toSlug(root)).toMatch(/^[\w-]+$/)
    expect(fromSlug(toSlug(root))).toBe(root)
  },
)

test.each(['%%%', 'a', '____'])('%s is no slug', slug => expect(fromSlug(slug)).toBeUndefined())
