import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { codexBinary } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { filesWith } from '../support/files-with.ts'
import { collect, expectOneEnd } from './support/events.ts'
import { useWorld, VOICES } from './support/world.ts'

const world = useWorld()
const { path: binary, version } = codexBinary()
const INSTALLED = { installed: true, version, support: 'tested', path: binary }

function logIn(auth: Record<string, unknown>): void {
  mkdirSync(world.codexHome, { recursive: true })
  writeFileSync(path.join(world.codexHome, 'auth.json'), JSON.stringify(auth), { mode: 0o600 })
}

describe('Codex as installed', () => {
  test('logged out it says how to log in', async () => {
    expect(await world.harness().checkInstallStatus()).toEqual({
      ...INSTALLED,
      authType: 'none',
      authenticated: false,
      authInstructions: expect.stringContaining('codex login'),
    })
  })

  test('with a stored key', async () => {
    logIn({ OPENAI_API_KEY: 'sk-fake-0123456789abcdef' })
    const status = await world.harness().checkInstallStatus()
    expect(status).toEqual({ ...INSTALLED, authType: 'api-key', authenticated: true })
  })

  test('a key that Codex does not use is no login', async () => {
    const harness = world.harness({ environment: { OPENAI_API_KEY: 'sk-fake' } })
    expect(await harness.checkInstallStatus()).toMatchObject({ authType: 'none', authenticated: false })
  })

  test('with CODEX_API_KEY, which `codex login status` does not count', async () => {
    const harness = world.harness({ environment: { CODEX_API_KEY: 'sk-fake' } })
    expect(await harness.checkInstallStatus()).toEqual({
      ...INSTALLED,
      authType: 'api-key',
      authenticated: true,
    })
  })

  test('the JS wrapper stands for the native binary behind it', async () => {
    const wrapper = path.resolve(import.meta.dirname, '../../node_modules/@openai/codex/bin/codex.js')
    expect((await world.harness({ binaryPath: wrapper }).checkInstallStatus()).path).toBe(binary)
    const bin = path.join(world.root, 'bin')
    mkdirSync(bin)
    symlinkSync(wrapper, path.join(bin, 'codex'))
    const harness = world.harness({ binaryPath: undefined, environment: { PATH: `${bin}:/usr/bin:/bin` } })
    expect((await harness.checkInstallStatus()).path).toBe(binary)
  })

  test('the binary is also found by its variable', async () => {
    const environment = { CHIRALITY_CODEX_BIN: binary }
    const harness = world.harness({ binaryPath: undefined, environment })
    expect(await harness.checkInstallStatus()).toMatchObject(INSTALLED)
  })
})

describe('a binary that is not Codex', () => {
  test.each([
    { what: 'missing', make: (file: string) => file, says: 'does not exist' },
    {
      what: 'a folder',
      make: (file: string) => {
        mkdirSync(file)
        return file
      },
      says: 'npm install -g @openai/codex',
    },
    {
      what: 'not executable',
      make: (file: string) => {
        writeFileSync(file, '#!/bin/sh\n')
        chmodSync(file, 0o644)
        return file
      },
      says: 'chmod +x',
    },
  ])('$what: not installed, and what to do', async ({ make, says }) => {
    const binaryPath = make(path.join(world.root, 'codex'))
    const status = await world.harness({ binaryPath }).checkInstallStatus()
    expect(status).toMatchObject({ installed: false, authenticated: false, authType: 'none' })
    expect(status.authInstructions).toContain(says)
    for (const { voice } of VOICES) {
      const events = world.harness({ binaryPath, voice }).startTurn(world.session(), 'Hi')
      await expect(events.next()).rejects.toMatchObject({ code: 'not_installed' })
    }
    const query = world.harness({ binaryPath }).query(world.query())
    await expect(query.next()).rejects.toMatchObject({ code: 'not_installed' })
  })

  test('another program: not installed', async () => {
    const binaryPath = path.join(world.root, 'codex')
    writeFileSync(binaryPath, '#!/bin/sh\necho 1.2.3\n')
    chmodSync(binaryPath, 0o755)
    const status = await world.harness({ binaryPath }).checkInstallStatus()
    expect(status).toMatchObject({ installed: false, path: binaryPath })
    expect(status.authInstructions).toContain('Is it the right binary?')
  })
})

describe.each(VOICES)('the login that is used through $voice', ({ voice }) => {
  test.each([
    { name: 'CODEX_API_KEY', key: 'sk-from-environment' },
    { name: 'auth.json', key: 'sk-from-file' },
  ])('$name', async ({ name, key }) => {
    const model = await world.model({ otherwise: 'Hello.' })
    if (name === 'auth.json') logIn({ OPENAI_API_KEY: key })
    const environment = name === 'auth.json' ? {} : { CODEX_API_KEY: key }
    const configOverrides = ownLogin(model.openaiUrl)
    const harness = world.harness({ model, voice, environment, configOverrides })
    const events = await collect(harness.startTurn(world.session(), 'Hi'))
    expect(expectOneEnd(events, voice)).toEqual({ reason: 'completed' })
    expect(model.requests.at(-1)?.headers.authorization).toBe(`Bearer ${key}`)
  })

  test('CODEX_API_KEY wins over a stored login, and leaves it as it was', async () => {
    const model = await world.model({ otherwise: 'Hello.' })
    logIn({ OPENAI_API_KEY: 'sk-from-file' })
    const before = readFileSync(path.join(world.codexHome, 'auth.json'), 'utf8')
    const environment = { CODEX_API_KEY: 'sk-from-environment' }
    const configOverrides = ownLogin(model.openaiUrl)
    const harness = world.harness({ model, voice, environment, configOverrides })
    await collect(harness.startTurn(world.session(), 'Hi'))
    expect(model.requests.at(-1)?.headers.authorization).toBe('Bearer sk-from-environment')
    expect(readFileSync(path.join(world.codexHome, 'auth.json'), 'utf8')).toBe(before)
    expect(filesWith(world.root, 'sk-from-environment')).toEqual([])
  })
})

/** A provider that takes the login of Codex itself, as OpenAI's does. */
function ownLogin(url: string): string[] {
  const settings = { name: 'own', base_url: url, wire_api: 'responses', requires_openai_auth: true }
  const provider = Object.entries(settings).map(
    ([key, value]) => `model_providers.own.${key}=${JSON.stringify(value)}`,
  )
  return ['model_provider="own"', ...provider]
}
