import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { lastBody, ofType } from './events.ts'
import { BYPASS, type WarmWorld } from './warm.ts'

/** What a conversation shows of a hook of a trusted project that fails before a command: with 2 it blocks, with 1 it does not. */
export function testFailingHooks(world: WarmWorld): void {
  test.each([
    { code: 1, runs: true },
    { code: 2, runs: false },
  ])('a hook that exits with $code before a command: it runs is $runs', async ({ code, runs }) => {
    const hook = { type: 'command', command: `echo Not on a Monday. >&2; exit ${code}` }
    mkdirSync(path.join(world.project, '.claude'), { recursive: true })
    writeFileSync(
      path.join(world.project, '.claude', 'settings.json'),
      JSON.stringify({ hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [hook] }] } }),
    )
    const touch = { tool: 'Bash', input: { command: 'touch made.txt', description: 'x' } }
    const model = await world.model({ answers: [touch], otherwise: 'Done.' })
    const events = await world.chat({ model }).turn('go', { ...BYPASS, trustProject: true })
    expect(existsSync(path.join(world.project, 'made.txt'))).toBe(runs)
    const results = ofType(events, 'tool:result')
    expect(results).toHaveLength(1)
    expect(results[0]?.isError).toBe(!runs)
    expect(results[0]?.content.includes('Not on a Monday.')).toBe(!runs)
    expect(JSON.stringify(lastBody(model).messages).includes('error: [')).toBe(!runs)
    const denied = ofType(events, 'status').filter(({ status }) => status === 'permission_denied')
    expect(denied.map(({ toolUseId }) => toolUseId)).toEqual(runs ? [] : [results[0]?.toolUseId])
    const hooks = ofType(events, 'status').filter(({ status }) => status === 'hook')
    expect(hooks).toMatchObject([
      { level: 'warn', message: `Hook PreToolUse:Bash failed (exit ${code}): Not on a Monday.` },
    ])
    expect(ofType(events, 'native:unknown')).toEqual([])
    expect(events.at(-1)).toMatchObject({ type: 'turn:end', reason: 'completed' })
  })
}
