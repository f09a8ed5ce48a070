import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { ComposedPrompt, PersonaConfig, PersonaEntry } from '@chirality/personas'
import { expect, test } from 'vitest'
import { jsonLines } from './support/running-command.ts'
import { createWorld } from './support/world.ts'

const REVIEWER = '---\ndescription: Reads, never writes\ntools: Read, Grep\nmax_turns: 3\n---\nBe strict.\n'

async function worldWith(files: Record<string, string>) {
  const world = await createWorld()
  mkdirSync(path.join(world.project, 'agents'))
  for (const [name, text] of Object.entries(files))
    writeFileSync(path.join(world.project, 'agents', `AGENT_${name}.md`), text)
  return world
}

test('list shows those that work, and of the others what is wrong and where', async () => {
  const { run } = await worldWith({ REVIEWER, BROKEN: '---\ntool: Read\nmax_turns: 0\n---\n' })
  const { code, stdout, stderr } = await run(['personas', 'list'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^✗ agents\/AGENT_BROKEN\.md:2: .*\n✗ agents\/AGENT_BROKEN\.md:3: .*\n/)
  expect(stdout).toMatch(/\nREVIEWER {2}Reads, never writes\n$/)
  const json = jsonLines<PersonaEntry>((await run(['personas', 'list', '--json'])).stdout)
  expect(json).toMatchObject([
    { kind: 'broken', id: 'BROKEN', line: 2 },
    { kind: 'persona', persona: { id: 'REVIEWER' } },
  ])
})

test('list explains personas when there are none', async () => {
  const { run, project } = await createWorld()
  expect(await run(['personas', 'list'])).toMatchObject({
    ...{ code: 0, stdout: '' },
    stderr: `chirality: No personas in ${project}. They are files agents/AGENT_<ID>.md.\n`,
  })
})

test('show prints the permissions of a persona', async () => {
  const { run } = await worldWith({ REVIEWER })
  const { code, stdout } = await run(['personas', 'show', 'REVIEWER'])
  expect(code).toBe(0)
  expect(stdout).toContain('allowedTools     Read, Grep\n')
  expect(stdout).toContain('maxTurns         3\n')
  const [persona] = jsonLines<PersonaConfig>((await run(['personas', 'show', 'REVIEWER', '--json'])).stdout)
  expect(persona).toMatchObject({ id: 'REVIEWER', allowedTools: ['Read', 'Grep'] })
})

test('prompt prints the prompt alone, and its length beside it', async () => {
  const { run } = await worldWith({ REVIEWER })
  const { code, stdout, stderr } = await run(['personas', 'prompt', 'REVIEWER', '--mode', 'pipeline'])
  expect(code).toBe(0)
  expect(stdout).toContain('Be strict.')
  expect(stdout).toContain('Pipeline')
  expect(stderr).toMatch(/^chirality: About \d+ tokens of 16000\.\n/)
  const json = await run(['personas', 'prompt', 'REVIEWER', '--mode', 'pipeline', '--json'])
  const [prompt] = jsonLines<ComposedPrompt>(json.stdout)
  expect(prompt?.text.trimEnd()).toBe(stdout.trimEnd())
  expect(json.stderr).toBe('')
})

test('one that is missing, broken or misnamed ends with 2 and says what to do', async () => {
  const { run, project } = await worldWith({ REVIEWER, BROKEN: '---\ntool: Read\n---\n' })
  const missing = await run(['personas', 'show', 'REVEIWER'])
  expect(missing).toMatchObject({ code: 2, stdout: '' })
  expect(missing.stderr).toContain(
    `There is no persona "REVEIWER" in ${project}. It has REVIEWER. Did you mean REVIEWER?`,
  )
  const broken = await run(['personas', 'prompt', 'BROKEN'])
  expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining('agents/AGENT_BROKEN.md:2: ') })
  expect(await run(['personas', 'show', '../x'])).toMatchObject({ code: 2 })
  expect((await run(['personas', 'shwo', 'x'])).stderr).toContain('Did you mean personas show?')
})

test('a persona shows its permissions without asking, which count from the consent until its file changes', async () => {
  const granting = '---\nauto_approve_tools: Bash(git *)\n---\nGo.\n'
  const { run, project } = await worldWith({ HELP: granting, REVIEWER })
  const isAllowed = async () => {
    const [shown] = jsonLines<{ isAllowed: boolean }>(
      (await run(['personas', 'show', 'HELP', '--json'])).stdout,
    )
    return shown?.isAllowed
  }
  expect((await run(['personas', 'show', 'HELP'])).stdout).toContain('chirality personas allow HELP')
  expect(await isAllowed()).toBe(false)
  const allowed = await run(['personas', 'allow', 'HELP'])
  expect(allowed).toMatchObject({ code: 0, stdout: expect.stringContaining('use Bash(git *)') })
  expect(await isAllowed()).toBe(true)
  writeFileSync(path.join(project, 'agents/AGENT_HELP.md'), `${granting}More.\n`)
  expect(await isAllowed()).toBe(false)
  expect((await run(['personas', 'allow', 'REVIEWER'])).code).toBe(2)
})
