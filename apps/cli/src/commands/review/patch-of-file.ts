import { unquotedPath } from '@chirality/workspaces'

/** The part of a patch that changes the text of one file. Undefined if there is none. */
export function patchOfFile(patch: string, file: string): string | undefined {
  return patch.split(/^(?=diff --git )/m).find(section => {
    // A line that was added may begin with "++": only what is before the first change names files.
    const [head = ''] = section.split(/^@@ /m)
    const [before, after] = [nameIn(head, '---'), nameIn(head, '+++')]
    return after === `b/${file}` || (after === '/dev/null' && before === `a/${file}`)
  })
}

/** Git ends a name that has a space in it with a tab, and quotes one with a quote, a tab or a line break. */
function nameIn(head: string, mark: '---' | '+++'): string | undefined {
  const line = head.split('\n').find(one => one.startsWith(`${mark} `))
  return line === undefined ? undefined : unquotedPath(line.slice(4).replace(/\t$/, ''))
}
