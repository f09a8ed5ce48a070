import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { untilGone } from '../../test/support/programs.ts'
import { useProject } from '../../test/support/project.ts'
import { processEnv } from '../process/system/process-env.ts'
import { detectShellEnvironment, readShellEnvironment } from './shell-environment.ts'

const project = useProject()
const PATIENT_MS = 600_000

/** A shell of our own: `lines` run as start-up files would, then the command as the real shell runs it. */
function makeShell(lines: string): string {
  const path = join(project.root, 'shell')
  writeFileSync(path, `#!/bin/sh\n${lines}\n[ "$1" = -lic ] && eval "$2"\n`)
  chmodSync(path, 0o755)
  return path
}

describe('the environment of a login shell', () => {
  test('equals the environment of the real shell', async () => {
    const env = await detectShellEnvironment('/bin/sh')
    expect(env.PATH).toContain('/')
    expect(env.HOME).toBe(processEnv().HOME)
  })

  test('is read once per shell', () => {
    expect(detectShellEnvironment('/bin/sh')).toBe(detectShellEnvironment('/bin/sh'))
  })

  test('has what the start-up files set, and no state of the shell', async () => {
    const shell = makeShell('export PATH="/from/profile:$PATH" MULTI="a\nb=c" SHLVL=7 OLDPWD=/')
    const env = await readShellEnvironment(shell, PATIENT_MS)
    expect(env.PATH).toMatch(/^\/from\/profile:/)
    expect(env.MULTI).toBe('a\nb=c')
    expect(env).not.toHaveProperty('SHLVL')
    expect(env).not.toHaveProperty('OLDPWD')
    expect(env).not.toHaveProperty('PWD')
  })

  test('is parsed when start-up files print text', async () => {
    const shell = makeShell(
      'echo "Welcome! {\\"PATH\\":1}"; echo noise >&2; export FROM_PROFILE=1; trap "echo bye" EXIT',
    )
    expect(await readShellEnvironment(shell, PATIENT_MS)).toMatchObject({ FROM_PROFILE: '1' })
  })

  test('does not wait for a daemon that the start-up files leave with our pipe', async () => {
    const pidFile = join(project.root, 'daemon')
    const shell = makeShell(`sh -c 'echo $$ > ${pidFile}; exec tail -f /dev/null' &`)
    expect(await readShellEnvironment(shell, PATIENT_MS)).toHaveProperty('PATH')
    await endDaemon(pidFile)
  })
})

describe('a shell that gives no answer', () => {
  test.each(['/nowhere/zsh', 'zsh', '', '/etc', '/etc/hosts'])(
    '%j gives an empty environment',
    async shell => {
      expect(await detectShellEnvironment(shell)).toEqual({})
    },
  )

  test('a failing shell gives an empty environment', async () => {
    expect(await readShellEnvironment(makeShell('exit 1'), PATIENT_MS)).toEqual({})
  })

  test('one that hangs: nothing, and it is ended with its children', async () => {
    const pidFile = join(project.root, 'pid')
    const shell = makeShell(`echo $$ > ${pidFile}; tail -f /dev/null`)
    // However late it starts: the time limit ends it, or it was never there.
    expect(await readShellEnvironment(shell, 200)).toEqual({})
    if (existsSync(pidFile)) await untilGone(Number(readFileSync(pidFile, 'utf8')))
  })
})

/** The daemon may be in the shell's group and end with it, or outlive it. */
async function endDaemon(pidFile: string): Promise<void> {
  while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8') === '') await new Promise(setImmediate)
  const pid = Number(readFileSync(pidFile, 'utf8'))
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
  await untilGone(pid)
}
