import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spawnAgent } from '../../src/process/agent-process.ts'
import { findByMarker } from '../../src/process/system/leftovers.ts'
import { isEnclosing } from '../../src/process/system/run-group.ts'
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
