import { claudeBinaries } from '@chirality/fixtures'
import { expect, test } from 'vitest'
import { choose, openEditor, said } from './support/editor.ts'
import { createWorld } from './support/world.ts'

test.each(claudeBinaries())(
  'an interrupted answer of claude $version is there once, live and on load',
  async ({ path: binary }) => {
    const world = await createWorld({
      answers: [{ text: 'An answer that never ends and goes on.', stallAfter: 4 }],
    })
    const env = { CHIRALITY_CLAUDE_BIN: binary }
    const editor = await openEditor(world, [], choose('allow_once'), env)
    const { sessionId } = await editor.agent.request('session/new', { cwd: world.project, mcpServers: [] })
    const prompted = editor.prompt(sessionId, 'Begin.')
    await world.model.waitForRequest(({ state }) => state === 'stalled')
    await editor.until(() => said(editor.updates).length > 0)
    await editor.agent.notify('session/cancel', { sessionId })
    expect(await prompted).toMatchObject({ stopReason: 'cancelled' })
    const answer = said(editor.updates)
    expect(answer).toMatch(/^An answer/)
    expect(answer.split('An answer')).toHaveLength(2)
    editor.updates.length = 0
    await editor.agent.request('session/load', { sessionId, cwd: world.project, mcpServers: [] })
    expect(said(editor.updates).split('An answer')).toHaveLength(2)
    const shown = editor.updates
      .map(update => said([update]) + said([update], 'agent_thought_chunk'))
      .join('')
    expect(shown.split('Interrupted by the user').length).toBeLessThanOrEqual(2)
    editor.command.endInput()
    expect(await editor.command.result()).toMatchObject({ code: 0 })
  },
)
