import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SECRET_NAMES } from '../../test/support/secret-names.ts'

const SCRIPT = `
  const { hideEnvironment } = await import(${JSON.stringify(new URL('hide-environment.ts', import.meta.url).href)})
  const { readFileSync } = await import('node:fs')
  const { execFileSync } = await import('node:child_process')
  const before = { ...process.env }
  const hidden = hideEnvironment()
  const again = hideEnvironment()
  const child = JSON.parse(execFileSync(process.execPath, ['-p', 'JSON.stringify(process.env)'], { encoding: 'utf8' }))
  console.log(JSON.stringify({ hidden, again, before, after: { ...process.env }, child, file: readFileSync('/proc/self/environ', 'utf8') }))
`

interface Report {
  hidden: string[]
  again: string[]
  before: Record<string, string>
  after: Record<string, string>
  child: Record<string, string>
  file: string
}

test.runIf(process.platform === 'linux')(
  'what no child is given is not in /proc/self/environ, and the process and its own children have it still',
  async () => {
    // Names that would change how the child below runs are not values that somebody hides.
    const names = SECRET_NAMES.filter(name => !/^(LD_|DYLD_|BASH_ENV|NODE_)/.test(name))
    const secrets = Object.fromEntries(names.map((name, at) => [name, `canary-${at}-ü`]))
    const env = {
      ...secrets,
      ANTHROPIC_API_KEY: 'canary-claude',
      EMPTY: '',
      HTTPS_PROXY: 'http://user:canary-proxy@proxy.example:1',
      LANG: 'C.UTF-8',
      PATH: '/usr/bin:/bin',
      CHIRALITY_RUN: 'marker-of-this-test',
    }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '-e', SCRIPT],
      { env, maxBuffer: 10_000_000 },
    )
    const { hidden, again, before, after, child, file } = JSON.parse(stdout) as Report
    expect(hidden).toEqual(expect.arrayContaining([...names, 'ANTHROPIC_API_KEY', 'HTTPS_PROXY']))
    expect(again).toEqual(hidden)
    expect(file).not.toContain('canary')
    expect(file).toContain('PATH=/usr/bin:/bin\0')
    expect(file).toContain('CHIRALITY_RUN=marker-of-this-test\0')
    expect(before).toMatchObject(env)
    expect(after).toEqual(before)
    expect(child).toMatchObject(env)
  },
)
