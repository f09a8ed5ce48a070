import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runHelper } from '../../src/process/program/run-helper.ts'
import { TEST_ENV } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

test('however few files may be opened, an agent runs and is stopped, or a typed error says why not', async () => {
  const program = fileURLToPath(new URL('../programs/few-files.ts', import.meta.url))
  const node = `'${process.execPath}' --import tsx --conditions=@chirality/source '${program}' '${project.root}'`
  const { stdout, stderr } = await runHelper('/bin/sh', ['-c', `ulimit -n 256 && exec ${node}`], {
    env: TEST_ENV,
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    timeoutMs: 50_000,
  })
  expect(stderr).toBe('')
  const outcomes = JSON.parse(stdout) as string[]
  expect(outcomes).toHaveLength(16)
  expect(outcomes[0]).toBe('SpoolError too-many-files')
  expect(outcomes).toContain('SpawnError too-many-files')
  expect(outcomes.at(-1)).toBe('ran, ended by SIGTERM, left 0')
  const expected = ['SpoolError too-many-files', 'SpawnError too-many-files', 'ran, ended by SIGTERM, left 0']
  expect(outcomes.filter(outcome => !expected.includes(outcome))).toEqual([])
})

test('without any file left no way to start a program ends the process, a model is asked for seconds only, and all of them work again after', async () => {
  const program = fileURLToPath(new URL('../programs/no-files.ts', import.meta.url))
  const node = `'${process.execPath}' --import tsx --conditions=@chirality/source '${program}'`
  const { stdout, stderr } = await runHelper('/bin/sh', ['-c', `ulimit -n 128 && exec ${node}`], {
    env: TEST_ENV,
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    timeoutMs: 50_000,
  })
  expect(stderr).toBe('')
  const none = 'too-many-files'
  expect(JSON.parse(stdout)).toEqual({
    without: [none, none, 'could not be started: Too many open files', none, 'empty'],
    retries: ['1 of 4', '2 of 4', '3 of 4', '4 of 4'],
    asked: 'Too many open files to connect to the API.',
    after: ['ran', 'hi', 'hi', 'hi', 'read'],
  })
})
