import type { HarnessInstallStatus } from '@chirality/core'
import { expect, test } from 'vitest'
import { ClaudeCodeHarness } from './claude-code/harness.ts'
import { CodexHarness } from './codex/harness.ts'
import { HarnessRegistry } from './registry.ts'

const environment = { PATH: '/nowhere', HOME: '/nowhere' }
const claude = () => new ClaudeCodeHarness({ environment, binaryPath: '/nowhere/claude' })
const codex = () => new CodexHarness({ environment, binaryPath: '/nowhere/codex' })

test('a registered harness is found by its id', () => {
  const registry = new HarnessRegistry()
  const harness = claude()
  registry.register(harness)
  registry.register(codex())
  expect(registry.get('claude-code')).toBe(harness)
  expect(registry.getOrThrow('codex').meta().name).toBe('Codex')
  expect(registry.has('codex')).toBe(true)
  expect(registry.has('other')).toBe(false)
  expect(registry.get('other')).toBeUndefined()
  expect(registry.getAll().map(({ id }) => id)).toEqual(['claude-code', 'codex'])
})

test('an unknown id is refused with the known ones', () => {
  const registry = new HarnessRegistry()
  registry.register(claude())
  expect(() => registry.getOrThrow('cluade')).toThrow('There is no harness cluade. Known: claude-code.')
})

test('an agent that is known and not installed is named with how to get it', () => {
  const registry = new HarnessRegistry()
  registry.register(claude())
  expect(() => registry.getOrThrow('acp-kimi')).toThrow(
    'Kimi CLI (acp-kimi) is known, but kimi is not on the PATH of this machine. Install it with `npm install -g @moonshot-ai/kimi-code`, and start Chirality again.',
  )
  expect(() => registry.getOrThrow('acp-goose')).toThrow('See https://block.github.io/goose, and start')
  expect(() => registry.getOrThrow('acp-nobody')).toThrow(
    'There is no harness acp-nobody. Known: claude-code.',
  )
})

test('an id can be registered once', () => {
  const registry = new HarnessRegistry()
  registry.register(claude())
  expect(() => registry.register(claude())).toThrow('registered already')
})

test('all are asked at once, and one that fails does not hide the others', async () => {
  const registry = new HarnessRegistry()
  const asked: string[] = []
  let release = () => {}
  const bothAsked = new Promise<void>(resolve => {
    release = resolve
  })
  const answering = (id: string, answer: () => HarnessInstallStatus) =>
    Object.assign(claude(), {
      id,
      checkInstallStatus: async () => {
        asked.push(id)
        if (asked.length === 2) release()
        await bothAsked
        return answer()
      },
    })
  registry.register(answering('good', () => ({ installed: true, authType: 'account', authenticated: true })))
  registry.register(
    answering('bad', () => {
      throw new Error('boom')
    }),
  )
  const statuses = await registry.checkAllInstallStatus()
  expect(statuses.get('good')).toMatchObject({ installed: true, authenticated: true })
  expect(statuses.get('bad')).toMatchObject({
    installed: false,
    authInstructions: expect.stringContaining('boom'),
  })
})
