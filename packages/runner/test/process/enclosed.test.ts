import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Shell } from '../../src/messages-api/tools/shell/shell.ts'
import { spawnAgent } from '../../src/process/agent-process.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { isEnclosing } from '../../src/process/system/run-group.ts'
import { runCommand } from '../../src/run-command.ts'
import { isRunning, openTestSpool, TEST_ENV } from '../support/programs.ts'
import { useProject } from '../support/project.ts'

const project = useProject()

test('a daemon without parent, session, group and environment of its agent ends with it, where runs are enclosed', async () => {
  const pidFile = path.join(project.root, 'daemon')
  const daemon = `env -i /usr/bin/setsid -f /bin/sh -c 'echo $$ > ${pidFile}; exec sleep 600'`
  const agent = await spawnAgent({
    command: '/bin/sh',
    args: ['-c', `sleep 0.2; ${daemon} > /dev/null 2>&1; exec sleep 600`],
    cwd: project.root,
    env: TEST_ENV,
    spool: await openTestSpool(project.root),
  })
  while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8') === '') await pause(5)
  const pid = Number(readFileSync(pidFile, 'utf8'))
  try {
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain(agent.marker)
    const found = await findByMarker(agent.marker)
    expect(found.some(entry => entry.pid === pid)).toBe(isEnclosing())
    const report = await agent.stop({ interruptGraceMs: 0 })
    await agent.close()
    // Where the system has no such groups it lives on, and nobody may say that nothing is left.
    expect(report.isSure).toBe(isEnclosing())
    expect(await isRunning(pid)).toBe(!isEnclosing())
  } finally {
    if (await isRunning(pid)) process.kill(pid, 'SIGKILL')
  }
})

/** Leaves a daemon without anything of the command, before it does anything else. */
const DAEMON = "env -i /usr/bin/setsid -f /bin/sh -c 'echo $$ >> daemons; exec sleep 600' > /dev/null 2>&1"

function daemons(): number[] {
  const file = path.join(project.root, 'daemons')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []
}

async function survivors(): Promise<number[]> {
  const alive = await Promise.all(daemons().map(async pid => ((await isRunning(pid)) ? [pid] : [])))
  return alive.flat()
}

async function endAll(): Promise<void> {
  for (const pid of await survivors()) process.kill(pid, 'SIGKILL')
}

const TIMES = 10
const BEGUN = 'while [ "$(wc -l < daemons)" -lt "$N" ]; do sleep 0.01; done'

test('no daemon that a command leaves at its very start outlives it, where runs are enclosed', async () => {
  try {
    for (let n = 1; n <= TIMES; n += 1) {
      const command = `${DAEMON}; touch daemons; N=${n}; ${BEGUN}`
      const options = { cwd: project.root, timeoutMs: 60_000, marker: randomUUID() }
      expect(await runCommand(command, options)).toMatchObject({ exitCode: 0 })
    }
    expect(await survivors()).toHaveLength(isEnclosing() ? 0 : TIMES)
  } finally {
    await endAll()
  }
})

test('nor one of a command of the Messages API agent, with the end of its turn', async () => {
  const { signal } = new AbortController()
  try {
    for (let n = 1; n <= TIMES; n += 1) {
      const shell = new Shell({ cwd: project.root, marker: randomUUID(), env: TEST_ENV })
      const command = `${DAEMON}; touch daemons; N=${n}; ${BEGUN}`
      expect(await shell.run(command, { timeoutMs: 60_000, signal })).toMatchObject({ exitCode: 0 })
      await shell.close()
    }
    expect(await survivors()).toHaveLength(isEnclosing() ? 0 : TIMES)
  } finally {
    await endAll()
  }
})
