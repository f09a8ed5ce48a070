import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { claudeBinaries, claudeBinary } from '@chirality/fixtures'
import { describe, expect, test } from 'vitest'
import { asked } from './support/requests.ts'
import { jsonLines } from './support/running-command.ts'
import { createWorld, program } from './support/world.ts'

const NODE = { check: 'node', ok: true, detail: process.versions.node }
const INSTALL = 'Install it with `npm install -g @anthropic-ai/claude-code`'

describe('chirality doctor', () => {
  test.each(claudeBinaries())('finds Claude Code $version, a credential and the project', async binary => {
    const { run, project, model } = await createWorld()
    const { code, stdout, stderr } = await run(['doctor', '--json'], {
      env: { CHIRALITY_CLAUDE_BIN: binary.path },
    })

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(jsonLines(stdout)).toEqual([
      NODE,
      { check: 'claude-code', ok: true, detail: `${binary.version} at ${binary.path}` },
      { check: 'claude-code login', ok: true, detail: 'has a credential (api-key), not yet proven' },
      { check: 'project', ok: true, detail: project },
    ])
    expect(asked(model)).toEqual([])
  })

  test('says it to people line by line, without colour in a pipe', async () => {
    const { run, project } = await createWorld()
    const { stdout } = await run(['doctor'], { env: { ANTHROPIC_API_KEY: undefined } })
    expect(stdout).toBe(
      [
        `✓ node              ${process.versions.node}`,
        `✓ claude-code       2.1.325 at ${claudeBinary()}`,
        '✗ claude-code login no credential',
        '                    Run `claude` once and type /login, or set ANTHROPIC_API_KEY.',
        `✓ project           ${project}`,
        '',
      ].join('\n'),
    )
  })

  test('without a credential it ends with 4', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['doctor', '--json'], { env: { ANTHROPIC_API_KEY: undefined } })

    expect(code).toBe(4)
    expect(jsonLines(stdout)[2]).toMatchObject({
      ok: false,
      detail: 'no credential',
      fix: expect.any(String),
    })
  })

  test('without the agent it ends with 3', async () => {
    const { run } = await createWorld()
    const { code, stdout } = await run(['doctor', '--json'], { env: { CHIRALITY_CLAUDE_BIN: '/no/claude' } })

    expect(code).toBe(3)
    expect(jsonLines(stdout).slice(1, 3)).toEqual([
      {
        check: 'claude-code',
        ok: false,
        detail: 'not installed',
        fix: expect.stringContaining(`/no/claude does not exist. Install it or correct the path. ${INSTALL}`),
      },
      { check: 'claude-code login', ok: false, detail: 'not known' },
    ])
  })

  test('a binary that is something else ends with 3', async () => {
    const { run } = await createWorld()
    const binary = program('garbage.sh')
    const { code, stdout } = await run(['doctor', '--json'], { env: { CHIRALITY_CLAUDE_BIN: binary } })

    expect(code).toBe(3)
    expect(jsonLines(stdout)[1]).toMatchObject({
      ok: false,
      fix: expect.stringContaining(`${binary} does not answer`),
    })
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
    const project = jsonLines<{ detail: string }>(stdout)[3]
    expect(project).toMatchObject({ check: 'project', ok: false, fix: expect.any(String) })
    expect(project?.detail.startsWith(folder)).toBe(true)
    expect(project?.detail.endsWith(detail)).toBe(true)
  })

  test('takes no argument', async () => {
    const { run } = await createWorld()
    const { code, stdout, stderr } = await run(['doctor', 'me'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('chirality: doctor takes no argument, not "me".')
  })
})
