import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { HELP } from '../src/help.ts'
import { BIN, createWorld } from './support/world.ts'

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test('the example of the README does what the README shows', async () => {
  const { home, project, env } = await createWorld()
  const bin = path.join(home, 'bin')
  mkdirSync(bin)
  writeFileSync(path.join(bin, 'chirality'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`)
  chmodSync(path.join(bin, 'chirality'), 0o755)
  const shell = spawn('/bin/sh', ['-eu'], {
    cwd: project,
    env: { ...env, PATH: `${bin}:${env.PATH}`, ANTHROPIC_BASE_URL: '', ANTHROPIC_API_KEY: '' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // The example leaves the model to end by itself; here the next check is that nothing is left.
  shell.stdin.end(`${block('sh')}\nwait\n`)
  let stdout = ''
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const [code] = await once(shell, 'close')

  expect(code).toBe(0)
  expect(withoutChance(stdout)).toBe(withoutChance(block('text')))
})

test('the README names every exit code that the help does, and no other', () => {
  const codes = [...README.matchAll(/^\| (\d+) +\|/gm)].map(match => match[1])
  expect(codes).toEqual(['0', '1', '2', '3', '4', '5', '130'])
  const help = HELP.slice(HELP.indexOf('Exit codes:'))
  expect([...help.matchAll(/\b(\d+) /g)].map(match => match[1])).toEqual(codes)
})

function block(language: string): string {
  return README.match(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``))?.[1] ?? ''
}

/** Ids and seconds are never the same twice. */
function withoutChance(text: string): string {
  return text.replace(/session [0-9a-f-]{36}/, 'session ID').replace(/(\d+\.\d s|\d+ ms)$/m, 'N s')
}
