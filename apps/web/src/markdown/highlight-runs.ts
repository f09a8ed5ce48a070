import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import makefile from 'highlight.js/lib/languages/makefile'
import markdown from 'highlight.js/lib/languages/markdown'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import shell from 'highlight.js/lib/languages/shell'
import sql from 'highlight.js/lib/languages/sql'
import swift from 'highlight.js/lib/languages/swift'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { own } from '../ui/own.ts'

/** A piece of code and the kind of thing it is, or null. */
export type Run = readonly [text: string, tone: string | null]

export interface HighlightRequest {
  id: number
  code: string
  language: string
}

export interface HighlightAnswer {
  id: number
  runs: readonly Run[] | null
}

const LANGUAGES = {
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  makefile,
  markdown,
  php,
  python,
  ruby,
  rust,
  shell,
  sql,
  swift,
  typescript,
  xml,
  yaml,
}
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)
hljs.registerAliases(['vue', 'svelte'], { languageName: 'xml' })
hljs.registerAliases(['jsonc', 'json5', 'ndjson'], { languageName: 'json' })

/** Runs of text with their tone. The library's tree is read, never the HTML that it can write. */
export function highlightRuns(code: string, language: string): readonly Run[] | null {
  if (!hljs.getLanguage(language)) return null
  const result = hljs.highlight(code, { language, ignoreIllegals: true }) as {
    _emitter?: { rootNode?: unknown }
  }
  const runs: Run[] = []
  collect(result._emitter?.rootNode, null, runs)
  return runs.length > 0 ? runs : null
}

function collect(node: unknown, tone: string | null, runs: Run[]): void {
  if (typeof node === 'string') {
    runs.push([node, tone])
    return
  }
  if (typeof node !== 'object' || node === null) return
  const { scope, children } = node as { scope?: string; children?: unknown[] }
  const inner = scope === undefined ? tone : (own(TONES, scope.split('.', 1)[0] ?? '') ?? tone)
  for (const child of children ?? []) collect(child, inner, runs)
}

/** The library knows some fifty scopes; six colours tell them apart well enough. */
const TONES: Readonly<Record<string, string>> = {
  keyword: 'keyword',
  'selector-tag': 'keyword',
  operator: 'keyword',
  literal: 'number',
  number: 'number',
  symbol: 'number',
  string: 'string',
  regexp: 'string',
  subst: 'string',
  comment: 'comment',
  quote: 'comment',
  meta: 'comment',
  title: 'name',
  attr: 'name',
  attribute: 'name',
  property: 'name',
  section: 'name',
  name: 'name',
  type: 'type',
  built_in: 'type',
  class: 'type',
  variable: 'type',
  addition: 'add',
  deletion: 'del',
}
