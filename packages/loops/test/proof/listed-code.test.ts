import { expect, test } from 'vitest'
import { findMatter } from '../../src/proof/matter.ts'

const matterOf = async (file: string, text: string) => {
  const { tests } = await findMatter({
    ...{
      files: [{ status: 'M', path: file }],
      commands: ['npm test'],
      prefix: '',
      read: [file],
      listed: [file],
    },
    ...{ inBase: ['a', 'src/a', 'checks/a'], show: async () => text },
  })
  return tests
}

test.each([
  ['src/lib.rs', 'pub fn a() {}\n#[cfg(test)]\nmod tests {}\n'],
  ['price.mjs', 'export const a = 1\nif (import.meta.vitest) {}\n'],
  ['price.py', 'def a():\n    """\n    >>> a()\n    1\n    """\n'],
])(
  '%s is code with tests in it: it is not put back, or the old code would pass for the new',
  async (file, text) => {
    expect(await matterOf(file, text)).toEqual([])
  },
)

test('a file that the runner lists and that has only tests judges, whatever it is called', async () => {
  expect(await matterOf('checks/a.mjs', "import { test } from 'vitest'\ntest('a', () => {})\n")).toEqual([
    'checks/a.mjs',
  ])
})
