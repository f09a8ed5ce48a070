import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { storeResult } from '@chirality/conformance'
import type { HarnessInstallStatus } from '@chirality/core'
import { claudeBinaries, claudeBinary, codexBinary, ODD_FILES, putOddFile } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { asked } from './support/requests.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld, program } from './support/world.ts'

const NODE = { check: 'node', ok: true, detail: process.versions.node }
const INSTALL = 'Install it with `npm install -g @anthropic-ai/claude-code`'
const NO_AGENT = { CHIRALITY_CLAUDE_BIN: '/no/claude', CHIRALITY_CODEX_BIN: '/no/codex' }
const NO_KEY = { ANTHROPIC_API_KEY: undefined, CODEX_API_KEY: undefined }

interface Line {
  check: string
  ok: boolean
  detail: string
  fix?: string
}

function about(stdout: string, check: string): Line | undefined {
  return jsonLines<Line>(stdout).find(line => line.check === check)
}

describe('chirality doctor', () => {
  test.each(claudeBinaries())(
    'finds Claude Code $version, the other agents and the project',
    async binary => {
      const { run, project, model } = await createWorld()
      const { code, stdout, stderr } = await run(['doctor', '--json'], {
        env: { CHIRALITY_CLAUDE_BIN: binary.path },
      })

      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const codex = codexBinary()
      const credential = 'has a credential (api-key), not yet proven'
      expect(jsonLines(stdout)).toEqual([
        NODE,
        { check: 'project', ok: true, detail: project },
        {
          check: 'claude-code',
          ok: true,
          detail: `${binary.version} at ${binary.path}`,
          support: 'tested',
        },
        { check: 'claude-code login', ok: true, detail: credential },
        { check: 'claude-code models', ok: true, detail: expect.stringContaining('opus') },
        { check: 'claude-code commands', ok: true, detail: expect.stringMatching(/^\d+: (\/\S+ ){6}…$/) },
        { check: 'claude-code sessions', ok: true, detail: 'none in this project' },
        { check: 'codex', ok: true, detail: `${codex.version} at ${codex.path}`, support: 'tested' },
        { check: 'codex login', ok: true, detail: credential },
        { check: 'codex sandbox', ok: true, detail: expect.stringMatching(/^(bubblewrap,|Seatbelt)/) },
        { check: 'codex models', ok: true, detail: expect.stringContaining('gpt-5.5') },
        { check: 'codex commands', ok: true, detail: 'none' },
        { check: 'codex sessions', ok: true, detail: 'none in this project' },
        {
          check: 'agent-sdk',
          ok: true,
          detail: expect.stringMatching(/^0\.3\.\d+, runs \/.*\/claude$/),
          support: 'tested',
        },
        { check: 'agent-sdk login', ok: true, detail: credential },
        { check: 'agent-sdk models', ok: true, detail: expect.stringContaining('opus') },
        { check: 'agent-sdk commands', ok: true, detail: 'those of claude-code' },
        { check: 'agent-sdk sessions', ok: true, detail: 'those of claude-code' },
        { check: 'messages-api', ok: true, detail: 'part of Chirality, nothing to install' },
        { check: 'messages-api login', ok: true, detail: credential },
        { check: 'messages-api models', ok: true, detail: expect.stringContaining('(default)') },
        { check: 'messages-api commands', ok: true, detail: 'none' },
        {
          check: 'messages-api sessions',
          ok: true,
          detail: 'only those of Chirality; see `chirality sessions list`',
        },
        {
          check: 'environment',
          ok: true,
          detail: expect.stringMatching(/^every agent gets HOME .* of \d+ variables$/),
          fix: expect.stringContaining('CHIRALITY_ALLOW_ENV=NAME,OTHER'),
        },
        // A machine with its programs names them, another says how to install them.
        {
          check: 'cage',
          ok: true,
          detail: expect.stringMatching(/off in this project$|apt-get install|on Linux only/),
        },
      ])
      expect(asked(model)).toEqual([])
    },
  )

  test('says it to people line by line, without colour in a pipe', async () => {
    const { run, project } = await createWorld()
    const { stdout } = await run(['doctor'], { env: NO_KEY })
    const lines = stdout.split('\n')
    expect(lines.slice(0, 5)).toEqual([
      `✓ node                  ${process.versions.node}`,
      `✓ project               ${project}`,
      `✓ claude-code           2.1.325 at ${claudeBinary()}`,
      '✗ claude-code login     no credential',
      `                        Run \`${claudeBinary()} auth login\`, or set ANTHROPIC_API_KEY.`,
    ])
    expect(lines).toContain('✗ codex login           no credential')
    expect(lines).toContain(
      `                        Run \`${codexBinary().path} login\`, or set CODEX_API_KEY.`,
    )
    const needsKey = lines.indexOf('✗ messages-api login    no credential')
    expect(lines[needsKey + 1]).toContain('Set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a gateway.')
  })

  test.each([
    { version: '2.9.0', ok: true, note: 'newer than the tested versions', support: 'newer' },
    { version: '2.1.250', ok: true, note: 'not among the tested versions', support: 'untested' },
    { version: '1.0.128', ok: false, note: 'too old', support: 'too-old' },
  ])('Claude Code $version is $support', async ({ version, ok, note, support }) => {
    const { run, project } = await createWorld()
    const claude = path.join(project, 'claude')
    const says = `case "$1" in --version) echo "${version} (Claude Code)";; auth) echo '{"loggedIn":true}';; esac`
    writeFileSync(claude, `#!/bin/sh\n${says}\n`, { mode: 0o755 })
    const env = { ...NO_AGENT, CHIRALITY_CLAUDE_BIN: claude }
    const answer = await run(['doctor', '--json'], { env })
    const line = about(answer.stdout, 'claude-code')
    expect(line).toMatchObject({ ok, support, detail: expect.stringContaining(`, ${note}`) })
    const fix = ok ? 'chirality conformance claude-code' : 'npm install -g @anthropic-ai/claude-code'
    expect(line?.fix).toContain(fix)
  })

  test('says what a trial of an untested version showed', async () => {
    const { run, project, home } = await createWorld()
    const claude = path.join(project, 'claude')
    const says = `case "$1" in --version) echo "2.9.0 (Claude Code)";; auth) echo '{"loggedIn":true}';; esac`
    writeFileSync(claude, `#!/bin/sh\n${says}\n`, { mode: 0o755 })
    const data = path.join(home, 'data')
    await storeResult(data, {
      ...{ harness: 'claude-code', name: 'Claude Code', version: '2.9.0', durationMs: 1 },
      at: '2026-01-01T00:00:00.000Z',
      findings: [
        { behaviour: 'text', outcome: 'supported', evidence: 'x' },
        { behaviour: 'deny', outcome: 'missing', evidence: 'x' },
      ],
    })
    const env = { ...NO_AGENT, CHIRALITY_CLAUDE_BIN: claude, CHIRALITY_HOME: data }
    const line = about((await run(['doctor', '--json'], { env })).stdout, 'claude-code')
    expect(line?.detail).toMatch(/, worked with differences when it was tried here$/)
    expect(line?.fix).toBeUndefined()
  })

  test('counts the conversations of the project', async () => {
    const { run } = await createWorld()
    await run(['run', 'Hi'])
    const { stdout } = await run(['doctor', '--json'])
    const detail = '1 in this project; see `chirality sessions import`'
    expect(about(stdout, 'claude-code sessions')).toEqual({ check: 'claude-code sessions', ok: true, detail })
  })

  test.each([
    ['Claude Code', { ANTHROPIC_API_KEY: undefined }, 'claude-code login'],
    ['Codex', { CODEX_API_KEY: undefined }, 'codex login'],
  ])('one agent with a credential is enough: without that of %s it ends with 0', async (_who, env, check) => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['doctor', '--json'], { env })
    expect(code).toBe(0)
    expect(about(stdout, check)).toMatchObject({
      ok: false,
      detail: 'no credential',
      fix: expect.any(String),
    })
  })

  test('exits with 4 when no agent has a credential', async () => {
    const { run } = await createWorld()
    expect(await run(['doctor', '--json'], { env: NO_KEY })).toMatchObject({ code: 4 })
  })

  test('with one agent that is there and not logged in it ends with 4', async () => {
    const { run } = await createWorld()
    const env = { ...NO_KEY, CHIRALITY_CLAUDE_BIN: '/no/claude' }
    expect(await run(['doctor', '--json'], { env })).toMatchObject({ code: 4 })
  })

  test('reports the same status as the dashboard', async () => {
    const { run, start } = await createWorld()
    const { stdout } = await run(['doctor', '--json'], { env: NO_KEY })
    const server = start(['serve', '--no-open', '--json', '--port', '0'], { env: NO_KEY })
    await server.shows('\n')
    const { url, token } = JSON.parse(server.stdout.split('\n')[0] ?? '') as { url: string; token: string }
    const answer = await fetch(`${url}/trpc/harnesses.status`, {
      headers: { authorization: `Bearer ${token}` },
    })
    server.signal('SIGTERM')
    await server.result()
    const { result } = (await answer.json()) as { result: { data: Record<string, HarnessInstallStatus> } }
    expect(Object.keys(result.data)).toEqual(['claude-code', 'codex', 'agent-sdk', 'messages-api'])
    for (const [id, { installed, authenticated, authInstructions }] of Object.entries(result.data)) {
      expect(about(stdout, id)?.ok).toBe(installed)
      expect(about(stdout, `${id} login`)).toMatchObject({ ok: authenticated, fix: authInstructions })
    }
  })

  test('exits with 3 when no agent is installed', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['doctor', '--json'], { env: NO_AGENT })

    expect(code).toBe(3)
    expect(jsonLines(stdout).slice(2, -2)).toEqual([
      {
        check: 'claude-code',
        ok: false,
        detail: 'not installed',
        fix: expect.stringContaining(`/no/claude does not exist. Install it or correct the path. ${INSTALL}`),
      },
      { check: 'claude-code login', ok: false, detail: 'not known' },
      {
        check: 'codex',
        ok: false,
        detail: 'not installed',
        fix: expect.stringContaining('/no/codex does not exist'),
      },
      { check: 'codex login', ok: false, detail: 'not known' },
      {
        check: 'agent-sdk',
        ok: false,
        detail: 'not installed',
        fix: expect.stringContaining('/no/claude does not exist'),
      },
      { check: 'agent-sdk login', ok: false, detail: 'not known' },
      ...Array.from({ length: 5 }, () => ({
        check: expect.stringMatching(/^messages-api/),
        ok: true,
        detail: expect.any(String),
      })),
    ])
  })

  test('binaries that are something else end with 3', async () => {
    const { run } = await createWorld()
    const binary = program('garbage.sh')
    const env = { CHIRALITY_CLAUDE_BIN: binary, CHIRALITY_CODEX_BIN: binary }
    const { code, stdout } = await run(['doctor', '--json'], { env })

    expect(code).toBe(3)
    for (const check of ['claude-code', 'codex']) {
      expect(about(stdout, check)).toMatchObject({
        ok: false,
        fix: expect.stringContaining(`${binary} does not answer`),
      })
    }
  })

  test.each([
    ['is missing', () => {}, 'does not exist'],
    ['is a file', (folder: string) => writeFileSync(folder, '', { mode: 0o755 }), 'is not a folder'],
    [
      'has a link where the log goes',
      (folder: string) => {
        mkdirSync(folder)
        symlinkSync('/', path.join(folder, '.chirality'))
      },
      '/.chirality is not a folder',
    ],
  ])('a project that %s ends with 2', async (_what, make, detail) => {
    const { run, home } = await createWorld()
    const folder = path.join(home, 'other')
    make(folder)
    const { code, stdout } = await run(['doctor', '--json', '--project', folder])

    expect(code).toBe(2)
    const project = about(stdout, 'project')
    expect(about(stdout, 'claude-code commands')?.detail).toBe('not known without a project')
    expect(project).toMatchObject({ check: 'project', ok: false, fix: expect.any(String) })
    expect(project?.detail.startsWith(folder)).toBe(true)
    expect(project?.detail.endsWith(detail)).toBe(true)
  })

  test('says which variables reach agents, and which of the user’s own do not', async () => {
    const { run, home } = await createWorld()
    const data = path.join(home, 'data')
    mkdirSync(data)
    writeFileSync(path.join(data, 'allow-env'), 'MINE # for npm\n\nMISSING\n')
    const env = {
      ...{ ...NO_AGENT, CHIRALITY_HOME: data, CHIRALITY_ALLOW_ENV: 'OTHER,LD_PRELOAD' },
      ...{ MINE: '1', OTHER: '2', LD_PRELOAD: '', SECRET: '3' },
    }
    const { stdout } = await run(['doctor', '--json'], { env })
    const line = about(stdout, 'environment')
    expect(line?.ok).toBe(false)
    expect(line?.detail).toMatch(
      /^every agent gets [A-Z_ ]*PATH[A-Z_ ]* and, as you said, OTHER MINE \(not set: MISSING\) \(never passed on: LD_PRELOAD\) of \d+ variables$/,
    )
    expect(line?.detail).not.toContain('SECRET')
    expect(line?.fix).toContain(path.join(data, 'allow-env'))

    writeFileSync(path.join(data, 'allow-env'), 'MINE=1\n')
    const wrong = await run(['doctor'], { env })
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('allow-env:1: "MINE=1" is not the name'),
    })
    for (const kind of Object.keys(ODD_FILES).filter(odd => /device|FIFO|1 GB|folder/.test(odd))) {
      putOddFile(kind, path.join(data, 'allow-env'))
      const odd = await run(['doctor'], { env })
      expect(odd, kind).toMatchObject({ code: 2, stderr: expect.stringMatching(/allow-env|\/dev\/zero/) })
    }
  })

  test('names what Claude Code gets beyond its own, and not its values', async () => {
    const { run } = await createWorld()
    const env = {
      CLAUDE_CODE_ENABLE_TELEMETRY: '1',
      OTEL_METRICS_EXPORTER: 'otlp',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=heron',
      OTEL_SERVICE_NAME: 'mine',
    }
    const { stdout } = await run(['doctor', '--json'], { env })
    expect(about(stdout, 'claude-code environment')?.detail).toBe(
      'CLAUDE_CODE_ENABLE_TELEMETRY is on: it also gets OTEL_METRICS_EXPORTER OTEL_EXPORTER_OTLP_HEADERS',
    )
    expect(about(stdout, 'codex environment')).toBeUndefined()
    expect(stdout).not.toContain('heron')
  })

  test('takes no argument', async () => {
    const { run } = await createWorld()
    const { code, stdout, stderr } = await run(['doctor', 'me'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('chirality: doctor takes no argument, not "me".')
  })
})
