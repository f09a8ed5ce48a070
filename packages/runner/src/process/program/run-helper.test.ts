import { describe, expect, test } from 'vitest'
import { TEST_ENV, untilGone } from '../../../test/support/programs.ts'
import { useProject } from '../../../test/support/project.ts'
import { runHelper } from './run-helper.ts'

const project = useProject()
const PATIENT_MS = 600_000

const runScript = (source: string, timeoutMs = PATIENT_MS) =>
  runHelper(process.execPath, ['-e', source], { env: TEST_ENV, cwd: project.root, timeoutMs })

describe('runCommand', () => {
  test('returns what was printed, and the code', async () => {
    expect(await runScript('console.log("out é"); console.error("err"); process.exit(3)')).toEqual({
      stdout: 'out é\n',
      stderr: 'err\n',
      code: 3,
      signal: null,
      timedOut: false,
    })
  })

  test('runs where it is told, with the environment it is given', async () => {
    const { stdout } = await runScript('console.log(process.cwd(), Object.keys(process.env).length)')
    expect(stdout).toMatch(new RegExp(`^${project.root} [12]\n$`))
  })

  test('gives an empty stdin', async () => {
    expect(await runScript('process.stdin.on("end", () => process.exit(5)).resume()')).toMatchObject({
      code: 5,
    })
  })

  test('ends a command that hangs', async () => {
    const result = await runScript('setInterval(() => {}, 1e6)', 50)
    expect(result).toMatchObject({ code: null, signal: 'SIGKILL', timedOut: true })
  })

  test('does not wait for a child that keeps the output open, and ends it', async () => {
    const source = `
      const { spawn } = require("node:child_process")
      const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"], { stdio: "inherit" })
      console.log(child.pid)
      process.exit(0)`
    const { stdout, code } = await runScript(source)
    expect(code).toBe(0)
    await untilGone(Number(stdout))
  })

  test('a command that cannot start is a result', async () => {
    const result = await runHelper('/nowhere/agent', [], { env: TEST_ENV, cwd: project.root })
    expect(result).toMatchObject({ code: null, stdout: '', error: { code: 'command-missing' } })
    expect(result.stderr).toContain('/nowhere/agent does not exist')
  })
})
