import { existsSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { call, started } from './support/fleet.ts'
import { findMarked } from './support/processes.ts'
import { createWorld, program } from './support/world.ts'

test.each([{ args: [] }, { args: ['--leave-agents'] }])(
  'what the server asked an agent about itself ends with the server: serve $args',
  async ({ args }) => {
    const world = await createWorld()
    const command = world.start(['serve', '--json', '--port', '0', '--project', world.project, ...args], {
      env: {
        CHIRALITY_HOME: path.join(world.home, 'chirality'),
        CHIRALITY_CLAUDE_BIN: program('never-says-login.sh'),
      },
    })
    const asked = call(await started(command), 'harnesses.status').catch(() => undefined)
    await expect.poll(() => existsSync(path.join(world.home, 'asked'))).toBe(true)
    command.signal('SIGINT')
    expect((await command.result()).code).toBe(0)
    expect(findMarked(world.env.CHIRALITY_RUN ?? '')).toEqual([])
    await asked
  },
)
