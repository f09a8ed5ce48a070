import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { claudeProjectFiles } from './project-files.ts'

function newProject(): string {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'chirality-project-')))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Defined only there: a skipped test counts as a failed one. */
const onLinux: typeof test | (() => void) = process.platform === 'linux' ? test : () => {}

onLinux(
  'a link to a file of /proc, which has no size and may have no end, is a problem and is not read',
  async () => {
    for (const target of ['/proc/self/pagemap', '/proc/self/environ']) {
      const project = newProject()
      symlinkSync(target, path.join(project, '.mcp.json'))
      expect(await claudeProjectFiles(project, { HOME: project })).toEqual({
        files: [],
        problem: expect.stringMatching(/longer than its size says|EINVAL/),
      })
    }
  },
)

test('a link to another file is followed, as the agent does', async () => {
  const project = newProject()
  writeFileSync(path.join(project, 'servers.json'), '{"mcpServers":{}}')
  symlinkSync('servers.json', path.join(project, '.mcp.json'))
  writeFileSync(path.join(project, 'empty'), '')
  const { files, problem } = await claudeProjectFiles(project, { HOME: project })
  expect(problem).toBeUndefined()
  expect(files.map(({ path: name, content }) => [name, String(content)])).toEqual([
    ['.mcp.json', '{"mcpServers":{}}'],
  ])
})
