import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** Where agents of the benchmark live: the program, and a pipe for each one that runs. */
export interface AgentFolder {
  root: string
  program: string
  pipes: string
}

/**
 * A `claude` that says what the speaker gives it to say. A process of its own for each session, as the real one, and next to
 * no load: what is measured is the server.
 */
export function makeAgents(): AgentFolder {
  const root = mkdtempSync(path.join(tmpdir(), 'chirality-bench-'))
  const pipes = path.join(root, 'pipes')
  const program = path.join(root, 'claude')
  mkdirSync(pipes)
  mkdirSync(path.join(root, 'project'))
  writeFileSync(program, SCRIPT)
  chmodSync(program, 0o755)
  return { root, program, pipes }
}

/** Answers what it is asked beside the conversation until it gets a message. */
const SCRIPT = `#!/bin/sh
case "$1" in --version) echo "2.1.325 (Claude Code)"; exit;; esac
hasMessage=
while IFS= read -r line; do
  case "$line" in
    *'"type":"control_request"'*)
      id="\${line#*\\"request_id\\":\\"}"
      id="\${id%%\\"*}"
      printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{}}}\\n' "$id"
      ;;
    *'"type":"user"'*) hasMessage=1; break ;;
  esac
done
# Whoever only asks what it can do ends its input without one.
[ -n "$hasMessage" ] || exit 0
mkfifo "\${0%/*}/pipes/$$"
exec cat "\${0%/*}/pipes/$$"
`
