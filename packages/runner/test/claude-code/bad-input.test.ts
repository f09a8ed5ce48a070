import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { HarnessNotInstalledError, type HarnessQuery, type HarnessTurnOpts } from '@chirality/core'
import { describe, expect, test } from 'vitest'
import { collect, expectOneEnd } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()
const fake = () => world.fake('fake-claude-record')

/** What is wrong before the start throws at the first event, in every way of running, and starts nothing. */
async function expectRefused(query: Partial<HarnessQuery>, code: string, says: string, binary = fake()) {
  const harness = world.harness(binary)
  const refusal = { code, harnessId: 'claude-code', message: expect.stringContaining(says) }
  await expect(collect(harness.query(world.query(query)))).rejects.toMatchObject(refusal)
  expect(existsSync(path.join(world.project, 'seen.json'))).toBe(false)
  expect(world.spools()).toEqual([])
}

async function expectTurnRefused(message: string, opts: HarnessTurnOpts, code: string, says: string) {
  const harness = world.harness(fake())
  const session = world.session()
  const refusal = { code, message: expect.stringContaining(says) }
  await expect(harness.startTurn(session, message, opts).next()).rejects.toMatchObject(refusal)
  // The session is free again.
  expect(harness.isRunning(session.id)).toBe(false)
  expect(expectOneEnd(await collect(harness.startTurn(session, 'Again')))).toEqual({ reason: 'completed' })
}

describe('refused before anything starts', () => {
  test.each([
    { what: 'an empty prompt', prompt: '' },
    { what: 'a prompt of blanks', prompt: ' \n\t ' },
    { what: 'no part at all', prompt: [] },
    { what: 'only blank parts', prompt: [{ type: 'text', text: ' ' }] },
  ] satisfies { what: string; prompt: HarnessQuery['prompt'] }[])('$what', async ({ prompt }) => {
    await expectRefused({ prompt }, 'invalid_query', 'The prompt is empty. Say what the agent should do.')
  })

  test('an empty prompt of a turn', async () => {
    await expectTurnRefused('  ', {}, 'invalid_query', 'The prompt is empty.')
  })

  test('a project folder that does not exist', async () => {
    const cwd = path.join(world.root, 'nowhere')
    await expectRefused({ cwd }, 'invalid_query', `The project folder ${cwd} does not exist.`)
  })

  test('a project folder that is a file', async () => {
    const cwd = path.join(world.root, 'file')
    writeFileSync(cwd, '')
    await expectRefused({ cwd }, 'invalid_query', 'is not a folder')
  })

  test('a project whose .chirality is a file: the raw log could not be kept', async () => {
    writeFileSync(path.join(world.project, '.chirality'), '')
    await expectRefused({}, 'invalid_query', '.chirality is not a folder. Move it away')
  })

  test('a project whose .chirality leads elsewhere', async () => {
    const elsewhere = path.join(world.root, 'elsewhere')
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, path.join(world.project, '.chirality'))
    await expectRefused({}, 'invalid_query', 'is a symbolic link')
    expect(readdirSync(elsewhere)).toEqual([])
  })

  test('a project folder that cannot be written to', async () => {
    // No mode keeps root out, so for root it is a folder where the system itself lets nobody write.
    const systemFolder = process.platform === 'linux' ? '/sys' : '/System'
    const cwd = process.getuid?.() === 0 ? systemFolder : world.project
    chmodSync(world.project, 0o555)
    await expectRefused({ cwd }, 'invalid_query', 'make the folder writable or choose another project')
    chmodSync(world.project, 0o755)
  })

  test('an extra folder that does not exist', async () => {
    const extra = path.join(world.root, 'extra')
    await expectTurnRefused('Hi', { additionalDirectories: [extra] }, 'invalid_query', 'The extra folder')
  })

  test('a temporary folder that does not exist', async () => {
    const environment = { TMPDIR: path.join(world.root, 'no-tmp') }
    const harness = world.harness(fake(), { environment })
    const query = world.query({ appendSystemPrompt: 'text' })
    await expect(collect(harness.query(query))).rejects.toMatchObject({
      code: 'invalid_query',
      message: expect.stringContaining('set TMPDIR'),
    })
  })

  test('a binary that does not exist', async () => {
    const binary = path.join(world.root, 'no-claude')
    await expectRefused({}, 'not_installed', `${binary} does not exist`, binary)
    await expectRefused({}, 'not_installed', 'CHIRALITY_CLAUDE_BIN', binary)
    const harness = world.harness(binary)
    await expect(harness.startTurn(world.session(), 'Hi').next()).rejects.toThrow(HarnessNotInstalledError)
    await expect(harness.run({ cwd: world.project, prompt: 'Hi' })).rejects.toMatchObject({
      code: 'not_installed',
    })
  })

  test('a folder as binary', async () => {
    await expectRefused({}, 'not_installed', 'is not a file', world.root)
  })

  test('a binary that is not executable', async () => {
    const binary = path.join(world.root, 'plain')
    writeFileSync(binary, '#!/bin/sh\n', { mode: 0o644 })
    await expectRefused({}, 'not_installed', `chmod +x '${binary}'`, binary)
  })

  test('a binary whose interpreter does not exist', async () => {
    const binary = path.join(world.root, 'broken')
    writeFileSync(binary, '#!/no/such/interpreter\n', { mode: 0o755 })
    await expectRefused({ appendSystemPrompt: 'text' }, 'not_installed', 'interpreter', binary)
  })

  test.each<{ what: string; opts: HarnessTurnOpts; says: string }>([
    { what: 'a model that is a flag', opts: { model: '--resume' }, says: 'model is "--resume"' },
    { what: 'a tool that is a flag', opts: { disallowedTools: ['-p'] }, says: 'disallowedTools is "-p"' },
    { what: 'a tool without a name', opts: { autoApproveTools: [''] }, says: 'allowedTools is ""' },
    { what: 'no turns', opts: { maxTurns: 0 }, says: 'maxTurns is 0' },
    { what: 'half a turn', opts: { maxTurns: 1.5 }, says: 'maxTurns is 1.5' },
    { what: 'no budget', opts: { maxBudgetUsd: 0 }, says: 'maxBudgetUsd is 0' },
    { what: 'a budget that is no number', opts: { maxBudgetUsd: Number.NaN }, says: 'maxBudgetUsd is NaN' },
    { what: 'a fork of nothing', opts: { forkSession: true }, says: 'forkSession needs resumeSessionId' },
    { what: 'a wished id that is no UUID', opts: { newSessionId: 'mine' }, says: 'must be a UUID' },
    {
      what: 'an image of an unknown type',
      opts: { images: [{ type: 'image', source: { kind: 'base64', mediaType: 'image/bmp', data: '' } }] },
      says: 'image/bmp',
    },
    {
      what: 'an image that is not there',
      opts: {
        images: [{ type: 'image', source: { kind: 'path', mediaType: 'image/png', path: '/no/image' } }],
      },
      says: 'cannot be read',
    },
    {
      what: 'an output schema that no command line can carry',
      opts: { outputSchema: { description: 'x'.repeat(3_000_000) }, systemPromptAppend: 'text' },
      says: 'too long',
    },
  ])('$what', async ({ opts, says }) => {
    await expectTurnRefused('Hi', opts, 'invalid_query', says)
  })

  test('an id for a conversation that is continued', async () => {
    const newSessionId = '00000000-0000-4000-8000-000000000000'
    const says = 'newSessionId is for a new conversation'
    await expectRefused({ newSessionId, resumeSessionId: 'other' }, 'invalid_query', says)
    await expectRefused({ newSessionId, continueLast: true }, 'invalid_query', says)
  })

  test('client tools with a mistake, and a server in their place', async () => {
    const tool = { name: 'x', description: '', inputSchema: { type: 'object' }, handler: async () => ({}) }
    await expectRefused({ clientTools: [tool, tool] }, 'invalid_query', 'two tools of this name')
    await expectRefused({ clientTools: [{ ...tool, inputSchema: {} }] }, 'invalid_query', 'inputSchema')
    const mcpServers = { __harness_client_tools: { type: 'http' as const, url: 'http://127.0.0.1:9' } }
    await expectRefused({ clientTools: [tool], mcpServers }, 'invalid_query', 'is taken by the client tools')
  })

  test('skipping permissions as root outside a sandbox', async () => {
    const isRoot = process.getuid?.() === 0
    const running = collect(world.harness(fake()).query(world.query({ mode: 'yolo' })))
    if (isRoot)
      await expect(running).rejects.toMatchObject({ message: expect.stringContaining('IS_SANDBOX=1') })
    else expect((await running).at(-1)?.type).toBe('complete')
  })
})
