import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { claudeVersions } from '@chirality/fixtures'
import { claudeEnv, startScriptedModel } from '@chirality/scripted-model'
import { describe, expect, test } from 'vitest'
import { type AgentProcess, spawnAgent } from '../../src/process/agent-process.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { isRunning, openTestSpool } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()
const PATIENT_MS = 600_000

describe.each(claudeVersions())('Claude Code $version in a Bash tool', ({ path }) => {
  /** Runs a turn up to where its tool hangs and has left a daemon: the moment in which people press stop. */
  async function runIntoTool(): Promise<{ agent: AgentProcess; pids: number[]; end(): Promise<void> }> {
    const pidFile = join(project.root, 'pids')
    const daemon = fileURLToPath(new URL('../programs/double-fork.mjs', import.meta.url))
    const member = fileURLToPath(new URL('../programs/member.mjs', import.meta.url))
    const command = `'${process.execPath}' '${daemon}' '${member}' >> '${pidFile}'; echo "{\\"ready\\":$$}" >> '${pidFile}'; tail -f /dev/null`
    const model = await startScriptedModel({ answers: [{ tool: 'Bash', input: { command } }, 'Done.'] })
    const home = join(project.root, 'home')
    mkdirSync(join(home, 'tmp'), { recursive: true })
    const agent = await spawnAgent({
      command: path,
      args: ['-p', '--output-format', 'stream-json', '--verbose', '--allowedTools', 'Bash'],
      cwd: project.root,
      env: claudeEnv(model, home),
      spool: await openTestSpool(project.root),
      stdin: 'Start it.',
    })
    const ready = () => (existsSync(pidFile) ? readFileSync(pidFile, 'utf8').match(/\d+(?=\})/g) : null) ?? []
    while (ready().length < 2) await pause(POLL_MS)
    return { agent, pids: ready().map(Number), end: () => model.close() }
  }

  test.each([
    { how: 'SIGINT first', options: { interruptGraceMs: PATIENT_MS } },
    { how: 'SIGTERM at once', options: { interruptGraceMs: 0, termGraceMs: PATIENT_MS } },
    { how: 'SIGKILL at once', options: { interruptGraceMs: 0, termGraceMs: 0 } },
  ])('$how leaves nothing running', async ({ options }) => {
    const { agent, pids, end } = await runIntoTool()
    expect(await Promise.all(pids.map(isRunning))).toEqual([true, true])
    const report = await agent.stop({ killGraceMs: PATIENT_MS, ...options })
    expect(report.leftRunning).toEqual([])
    expect(await Promise.all([agent.pid, ...pids].map(isRunning))).toEqual([false, false, false])
    expect(await findByMarker(agent.marker)).toEqual([])
    await agent.close()
    await end()
  })

  test('a crash leaves the tool to the sweep', async () => {
    const { agent, pids, end } = await runIntoTool()
    agent.signal('SIGKILL')
    expect(await agent.exited).toMatchObject({ signal: 'SIGKILL', stopped: false })
    expect(await Promise.all(pids.map(isRunning))).toEqual([true, true])
    const report = await agent.stop({ killGraceMs: PATIENT_MS })
    expect(report.stopped).toEqual(expect.arrayContaining(pids))
    expect(report.leftRunning).toEqual([])
    await agent.close()
    await end()
  })
})

/** Whoever asks without a pause takes the processor from what it waits for. */
const POLL_MS = 5
