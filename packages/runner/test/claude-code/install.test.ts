import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { claudeBinaries, claudeBinary } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { modelRequests } from './support/events.ts'
import { useWorld } from './support/world.ts'

const world = useWorld()

describe.each(claudeBinaries())('Claude Code $version as installed', ({ path: binary, version }) => {
  test('with a key it is installed and authenticated', async () => {
    const model = await world.model({})
    expect(await world.harness(binary, { model }).checkInstallStatus()).toEqual({
      installed: true,
      version,
      support: 'tested',
      path: binary,
      authType: 'api-key',
      authenticated: true,
    })
    expect(modelRequests(model)).toEqual([])
  })

  test('without a credential it says how to log in', async () => {
    const harness = world.harness(binary, { environment: { ANTHROPIC_API_KEY: undefined } })
    expect(await harness.checkInstallStatus()).toMatchObject({
      installed: true,
      version,
      authType: 'none',
      authenticated: false,
      authInstructions: expect.stringContaining('claude auth login`'),
    })
  })

  test('a home that cannot be used does not hide that it is installed', async () => {
    const home = path.join(world.root, 'no-folder')
    writeFileSync(home, '')
    for (const HOME of [home, '/proc/sys'])
      expect(await world.harness(binary, { environment: { HOME } }).checkInstallStatus()).toMatchObject({
        installed: true,
        version,
        authenticated: true,
      })
  })

  test('slash commands are listed without asking the model, running hooks or starting MCP servers', async () => {
    const model = await world.model({})
    const ran = path.join(world.root, 'ran')
    const touch = (name: string) => ['-c', `touch '${ran}-${name}'; cat`]
    for (const folder of ['commands', 'skills/talent'])
      mkdirSync(path.join(world.project, '.claude', folder), { recursive: true })
    const write = (file: string, text: string) => writeFileSync(path.join(world.project, file), text)
    write('.claude/commands/release.md', '---\ndescription: Cut a release\n---\nDo it.')
    write('.claude/skills/talent/SKILL.md', '---\nname: talent\ndescription: Sing\n---\nSing.')
    write('.mcp.json', JSON.stringify({ mcpServers: { bad: { command: 'sh', args: touch('server') } } }))
    const hook = { type: 'command', command: `touch '${ran}-hook'` }
    write('.claude/settings.json', JSON.stringify({ hooks: { SessionStart: [{ hooks: [hook] }] } }))

    const harness = world.harness(binary, { model })
    const commands = await harness.discoverSlashCommands(world.project, undefined, { trustProject: true })

    const own = commands.find(({ name }) => name === 'release')
    expect(own).toMatchObject({
      type: 'slash_command',
      description: expect.stringContaining('Cut a release'),
    })
    expect(commands.find(({ name }) => name === 'talent')).toMatchObject({ type: 'skill' })
    expect(commands.map(({ name }) => name)).toContain('compact')
    expect(modelRequests(model)).toEqual([])
    expect([existsSync(`${ran}-server`), existsSync(`${ran}-hook`)]).toEqual([false, false])
    expect(existsSync(path.join(world.project, '.chirality'))).toBe(false)
  })

  test('a look at the commands can be stopped', async () => {
    const looking = world.harness(binary).discoverSlashCommands(world.project, AbortSignal.abort())
    await expect(looking).rejects.toMatchObject({ code: 'aborted' })
  })
})

describe('a binary that is not Claude Code', () => {
  const PLAIN = 'Give the path of the program itself.'

  test.each([
    { what: 'missing', make: (file: string) => file, says: 'does not exist' },
    {
      what: 'a folder',
      make: (file: string) => {
        mkdirSync(file)
        return file
      },
      says: PLAIN,
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
    const harness = world.harness(make(path.join(world.root, 'claude')))
    const status = await harness.checkInstallStatus()
    expect(status).toMatchObject({ installed: false, authenticated: false, authType: 'none' })
    expect(status.authInstructions).toContain(says)
    await expect(harness.discoverSlashCommands(world.project)).rejects.toMatchObject({
      code: 'not_installed',
      message: expect.stringContaining(says),
    })
  })

  test('another program: not installed, and only asked for its version', async () => {
    const binary = path.join(world.root, 'claude')
    const asked = path.join(world.root, 'asked')
    writeFileSync(binary, `#!/bin/sh\necho "$@" >> '${asked}'\necho 1.2.3\n`)
    chmodSync(binary, 0o755)
    const status = await world.harness(binary).checkInstallStatus()
    expect(status).toMatchObject({ installed: false, path: binary })
    expect(status.authInstructions).toContain('Is it the right binary?')
    expect(readFileSync(asked, 'utf8')).toBe('--version\n')
  })

  test('another program lists no commands, and says what it printed', async () => {
    const binary = path.join(world.root, 'claude')
    writeFileSync(binary, '#!/bin/sh\necho nonsense\necho wrong program >&2\nexit 3\n')
    chmodSync(binary, 0o755)
    await expect(world.harness(binary).discoverSlashCommands(world.project)).rejects.toMatchObject({
      code: 'process_crashed',
      message: 'Claude Code did not list its commands. It said: wrong program',
    })
  })

  test('the commands of a folder that does not exist', async () => {
    const looking = world.harness(claudeBinary()).discoverSlashCommands(path.join(world.root, 'nowhere'))
    await expect(looking).rejects.toMatchObject({ code: 'invalid_query' })
  })
})
