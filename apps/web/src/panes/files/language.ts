import { own } from '../../ui/own.ts'

const NAMES: Readonly<Record<string, string>> = {
  cjs: 'javascript',
  htm: 'xml',
  html: 'xml',
  h: 'c',
  hpp: 'cpp',
  md: 'markdown',
  mjs: 'javascript',
  mts: 'typescript',
  sh: 'bash',
  svg: 'xml',
  toml: 'ini',
  yml: 'yaml',
  zsh: 'bash',
}

const WHOLE_NAMES: Readonly<Record<string, string>> = { Dockerfile: 'dockerfile', Makefile: 'makefile' }

/** The language of a file by its name, as far as a name tells. */
export function languageOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const extension = name.includes('.') ? name.slice(name.lastIndexOf('.') + 1).toLowerCase() : ''
  return own(WHOLE_NAMES, name) ?? own(NAMES, extension) ?? extension
}
