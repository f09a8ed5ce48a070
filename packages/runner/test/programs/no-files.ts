// Takes every file descriptor, starts programs in each way that there is, and asks a model.
import { closeSync, openSync, writeSync } from 'node:fs'
import { readShellEnvironment } from '../../src/env/shell-environment.ts'
import { askModel } from '../../src/messages-api/loop/ask-answer.ts'
import { Shell } from '../../src/messages-api/tools/shell/shell.ts'
import { runHelper } from '../../src/process/program/run-helper.ts'
import { SpawnError } from '../../src/process/program/spawn-error.ts'
import { startProgram } from '../../src/process/program/start-program.ts'
import { runCommand } from '../../src/run-command.ts'

const env = { PATH: '/usr/bin:/bin' }
const cwd = '/tmp'
const marker = 'no-files-marker'
const { signal } = new AbortController()

async function tryAll(): Promise<string[]> {
  const nameOf = (error: unknown) => (error instanceof SpawnError ? error.code : String(error))
  const helper = await runHelper('/bin/echo', ['hi'], { env, cwd })
  const command = await runCommand('echo hi', { cwd, timeoutMs: 60_000, marker })
  const shell = new Shell({ cwd, marker, env })
  return [
    await startProgram('/bin/true', [], { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] }).then(
      () => 'ran',
      nameOf,
    ),
    helper.error?.code ?? helper.stdout,
    command.stopped?.replace(/ to start.*/s, '') ?? command.output,
    await shell.run('echo hi', { timeoutMs: 60_000, signal }).then(({ stdout }) => stdout, nameOf),
    Object.keys(await readShellEnvironment('/bin/sh', 60_000)).length > 0 ? 'read' : 'empty',
  ].map(text => text.trim())
}

const taken: number[] = []
try {
  while (true) taken.push(openSync('/dev/null', 'r'))
} catch {
  // None left.
}
const without = await tryAll()
const retries: string[] = []
const asked = await askModel({
  endpoint: { baseUrl: 'http://127.0.0.1:40009', apiKey: 'none' },
  body: '{}',
  signal,
  maxRetries: 10,
  onRetry: ({ attempt, maxRetries }) => retries.push(`${attempt} of ${maxRetries}`),
}).catch((error: Error) => String((error.cause as Error).message).replace(/ Stop.*/, ''))
for (const fd of taken) closeSync(fd)
writeSync(1, JSON.stringify({ without, retries, asked, after: await tryAll() }))
process.exit(0)
