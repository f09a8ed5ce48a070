import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnAgent } from '../../src/process/agent-process.ts'
import { SpawnError } from '../../src/process/program/spawn-error.ts'
import { script } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

describe('a process that cannot be started', () => {
  const start = async (changes: { command?: string; cwd?: string; args?: string[] }) => {
    const options = { ...(await script(project.root, '')), ...changes }
    const error: unknown = await spawnAgent(options).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SpawnError)
    expect(existsSync(options.spool.path)).toBe(false)
    expect(existsSync(options.spool.stderrPath)).toBe(false)
    return error as SpawnError
  }

  test('missing command', async () => {
    const command = join(project.root, 'nothing')
    expect(await start({ command })).toMatchObject({
      code: 'command-missing',
      message: expect.stringContaining(command),
    })
  })

  test('command that is not executable', async () => {
    const command = join(project.root, 'plain-file')
    writeFileSync(command, '#!/bin/sh\n', { mode: 0o644 })
    const error = await start({ command })
    expect(error).toMatchObject({
      code: 'command-not-executable',
      message: expect.stringContaining('chmod +x'),
    })
  })

  test('command whose interpreter is missing', async () => {
    const command = join(project.root, 'no-interpreter')
    writeFileSync(command, '#!/nowhere/sh\n', { mode: 0o755 })
    const error = await start({ command })
    expect(error).toMatchObject({
      code: 'command-not-executable',
      message: expect.stringContaining('interpreter'),
    })
  })

  test('a folder as command', async () => {
    expect(await start({ command: project.root })).toMatchObject({ code: 'command-not-executable' })
  })

  test('missing working folder, though the system blames the command', async () => {
    const cwd = join(project.root, 'nowhere')
    expect(await start({ cwd })).toMatchObject({ code: 'cwd-missing', message: expect.stringContaining(cwd) })
  })

  test('arguments that are too long', async () => {
    const args = Array.from({ length: 64 }, () => 'x'.repeat(120_000))
    expect(await start({ args })).toMatchObject({ code: 'arguments-too-long' })
  })

  test('an argument with a NUL', async () => {
    expect(await start({ args: ['a\0b'] })).toMatchObject({ code: 'invalid-argument' })
  })
})
