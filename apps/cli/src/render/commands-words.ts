import { visibleLine } from '@chirality/core'

/**
 * What is run without asking, one command a line, with every character of it: a sequence that a terminal would act on is
 * part of what the shell gets. Undefined without commands.
 */
export function commandsWords(title: string, commands: readonly string[] = []): string | undefined {
  if (commands.length === 0) return undefined
  return [title, ...commands.map(command => `    ${visibleLine(command)}`)].join('\n')
}
