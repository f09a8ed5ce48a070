// Takes all file descriptors but a few, and tries to run an agent with each number of free ones.
import { closeSync, openSync, writeSync } from 'node:fs'
import { outputOf, spawnAgent } from '../../src/process/agent-process.ts'
import { SpawnError } from '../../src/process/program/spawn-error.ts'
import { openSpool } from '../../src/process/spool/spool.ts'
import { SpoolError } from '../../src/process/spool/spool-error.ts'
import { TEST_ENV } from '../support/programs.ts'

const [projectRoot = ''] = process.argv.slice(2)
const taken: number[] = []

function takeAll(): void {
  try {
    while (true) taken.push(openSync('/dev/null', 'r'))
  } catch {
    // None left.
  }
}

async function attempt(): Promise<string> {
  try {
    const spool = await openSpool({ projectRoot, harness: 'test', sessionId: 'session', turnId: 'turn' })
    const agent = await spawnAgent({
      command: '/bin/sh',
      args: ['-c', 'echo "{}"; exec sleep 100000'],
      cwd: projectRoot,
      env: TEST_ENV,
      spool,
    })
    for await (const output of outputOf(agent)) if (output.kind === 'record') break
    takeAll()
    const { leftRunning } = await agent.stop({ interruptGraceMs: 0 })
    const { signal } = await agent.exited
    await agent.close()
    return `ran, ended by ${signal}, left ${leftRunning.length}`
  } catch (error) {
    if (error instanceof SpoolError || error instanceof SpawnError) return `${error.name} ${error.code}`
    throw error
  }
}

const outcomes: string[] = []
takeAll()
for (let free = 0; free < 16; free += 1) {
  takeAll()
  for (const fd of taken.splice(0, free)) closeSync(fd)
  outcomes.push(await attempt())
}
for (const fd of taken) closeSync(fd)
writeSync(1, JSON.stringify(outcomes))
