import {
  type ChoiceWords,
  type HarnessCapabilities,
  MODE_WORDS,
  PERMISSION_WORDS,
  TRANSLATABLE_HARNESSES,
} from '@chirality/core'
import { HARNESSES, harnessMeta } from '@chirality/runner'

export const HELP = `Usage: chirality <command> [options]

  serve                    The dashboard and the API, on this machine only
      --project DIR          A folder agents may work in; can be given more than once (default: this folder)
      --port N               The first port to try (default: 4096; 0 takes any)
      --no-open              Open no browser
      --demo                 With a project to try, and a model that plays a script in that project only
      --allow-env NAME       A variable that agents get besides those they always get; doctor shows which these are
      --leave-agents         Let agents work on when the server stops; the next one goes on with them
      --keep-memory N        Memory for agents that are kept between turns: 2G, 500M, a share of the free memory (25%, the
                             default), 0 for none. Also CHIRALITY_KEEP_MEMORY
      --json                 {"url","port","token","pid","link"} as the first line
      --expose tailscale     Let your phone in, and whoever else your tailnet admits: see docs/remote.md
      --host H --expose --origin https://NAME, with --tls-cert FILE --tls-key FILE or --behind-proxy
                             Let other machines in. Whoever gets in has your shell: see docs/security.md
      --proxy-address IP     With --behind-proxy: the machine of the proxy, if it is another one
      --fleet URL            As a hub of a fleet: shows the sessions of all its machines. See docs/fleet.md
  worker --fleet URL       Runs agents for a fleet; takes the options of serve
      --label L              What the machine has, such as gpu; can be given more than once
      --slots N              How many turns may run at once (default: one for each core)
      --no-copies            Send no copies of sessions to the hubs: when this machine is gone, none goes on elsewhere
  fleet init               Make this machine the first hub of a fleet, with its broker
      --name NAME            The name of the machine (default: made of its host name)
      --host H --port N      Where the broker listens, and where other machines dial (default: 127.0.0.1, 4222)
      --nats FILE --sha256 S The nats-server to use, or its .tar.gz, or an https address of either, and its SHA-256 sum
      --nodes A,B,C          Three brokers on other machines: writes a folder for each, and starts none
  fleet invite [--hub]     A code with which one machine can join, once, within a day
  fleet join CODE          Join a fleet with a key that this machine makes; --name NAME
  fleet status             The machines of the fleet
  fleet revoke MACHINE     Take the rights of a machine away
  fleet forget MACHINE     Remove one that does not come back, with its sessions and their logs on all hubs; --yes: do not ask
  fleet leave              Take this machine out of its fleet; to join again, revoke it first on the hub; --force: also
                           the hub that made it
  fleet move SESSION       Move a session to another machine; --to MACHINE
  fleet drain MACHINE      Move all its sessions that are not at work; --to MACHINE
  fleet takeover SESSION   Go on elsewhere with a session whose machine is gone; --to MACHINE, --wait: do not ask its agent
  fleet keep SESSION       Give up a move whose target does not come back
      --json                 All of them
  link                     A new link into a server that runs: signs one browser in, once, within 10 minutes
      --port N               Only into the server on this port
      --list                 The browsers that are signed in
      --revoke ID            Sign one out; "all" signs out every browser
      --json
  run [PROMPT|-]           One turn of an agent, streamed. "-" reads the prompt from stdin.
      --project DIR          Where the agent works (default: this folder)
      --harness ID           Which agent: ${agents(HARNESSES.map(({ meta }) => meta.id))}
      --model M              Model name or alias
      --session ID           Continue an earlier session, or a conversation of an agent; each run shows its id
      --where MACHINE        On a machine of the fleet that has a clone of the project; "any": where there is room
      --worktree             Work in a git worktree of its own, on a branch of its own: see worktrees below
      --base REF             Where its branch begins (default: what is checked out)
      --allow-setup          Let .chirality/workspace.yaml of the project, as it is now, set the worktree up
      --persona ID           Who the agent is and what it may do: agents/AGENT_<ID>.md of the project
      --mode M               How the agent works (default: direct):
${choices(MODE_WORDS)}
      --permission-mode M    What it may do (default: the session's, the persona's, or dontAsk). A run asks nobody:
                             what it would ask about is denied
${choices(PERMISSION_WORDS)}
      --cage LEVEL           on: the agent reaches only what the cage gives it, or does not start; required: also not with
                             a login that it could read; off (default). A stricter one of the project or persona wins
      --tools LIST           Tools the agent may see: names, "default" (the default) or "" for none.${without('supportsNamedTools')}
      --allow LIST           Tools that run without asking, e.g. "Read,Bash(git *)".${without('supportsNamedTools')}
      --max-turns N          Most rounds of model and tools (default: the persona's, the session's, or 25).${without('supportsMaxTurns')}
      --budget-usd N         Most that the session may spend in all; with --session it is raised
      --budget-tokens N      The same in tokens
      --budget-minutes N     The same in minutes of its turns
      --fail-on-denial       Stop, and exit with 1, as soon as something that the agent wants is denied
      --trust-project        Let agents use the settings, hooks and MCP servers of the project, as they are now
      --timeout S            Stop the turn after S seconds
      --json                 One envelope a line on stdout
  agents list              Agents that speak the Agent Client Protocol: configured, or found on PATH. See docs/acp.md
      --json
  agents add NAME -- COMMAND…
                           Configure one; run it with --harness acp-NAME
      --env NAME,…           Variables that it gets, by name
      --title TEXT           Its name in the dashboard
  agents remove NAME       Forget it. Its sessions stay
  conformance [HARNESS]    Show what an agent does in scripted conversations on this machine, without an account and without
                           tokens: see docs/conformance.md. Without a name: every agent that is installed
      --program FILE         Its program, in the place of the one that is found
      --limit S              Most seconds for a turn (default: 45)
      --json                 One report a line
  conformance -- COMMAND…  The same for any program that speaks the Agent Client Protocol
  loop run LIST            Work through a Markdown task list, each task in a worktree of its own: see docs/loops.md
      --parallel N           So many tasks at once (default: 1)
      --budget USD|none      Most that it may spend; --tokens N the same in tokens. Without both, and none in the list:
                             what you answered once, or $20
      --dry-run              Show how the list is read, and start nothing
      --max-iterations N     Most times that an agent is asked
      --until TIME           Stop by then: 06:30, or a date and time
      --wait-for-limits N    Wait so many times until a limit of the plan is reset (default: 0, it ends)
      --hand-over NAMES      At a limit of the plan let these agents go on, in order: codex,claude-code (default: off)
      --allow-dirty          Start although files are not committed; agents do not see those
      --project DIR  --json
  loop status [ID]         What became of the tasks; of all loops of the project without an ID
  loop resume [ID]         Go on with the last loop, or this one; --task T --note "…" puts a parked or failed task back;
                           --allow "COMMAND" allows exactly a command that a parked task waits for (may be repeated);
                           --as-found goes on with what can be believed of a loop whose files somebody changed
  loop stop [ID]           Stop it in the process that runs it
  loop report [ID]         One page: proved, parked, failed, cost, and what to look at
  loop accept [ID]         Merge what is proved into the branch that the loop began at; --task T: up to this task
  loop revert [ID] --task T  Take the change of a task back from the loop's branch, and its tick from the list
  loop verify RECEIPT|TASK Check all that is said of a task again: journal, signature, commit, change, and its checks on
                           the base, on the commit and with the tests of the base; exit code 6: not all could be checked;
                           --allow "COMMAND" allows exactly another one that the receipt has (may be repeated)
  schedule add PROMPT      Let a server run a prompt, or with --loop LIST a task list, at times: see docs/loops.md
      --cron "0 3 * * *"     Minute, hour, day, month, weekday, in the time zone --zone (default: this machine's); or
      --every 6h             each 6 hours (m, h, d), or --at TIME once
      --missed skip|once     What becomes of times at which no server ran (default: skip)
      --overlap              Start it also while its last run goes on
      --budget USD  --max-minutes N  --answer-minutes N
                             Of each run; a request that nobody answers in that time ends it (default: 30)
      --keep-runs N          Keep the worktrees of so many runs (default: 10)
      --parallel N  --max-iterations N  --wait-for-limits N  --hand-over NAMES
                             Of a task list, as for loop run
      --allow LIST           Tools that a prompt may use without asking: "Bash(npm test),Edit"
      --name N  --worktree  --harness ID  --persona ID  --model M  --permission-mode M  --project DIR  --json
  schedule list            All of them, with the next time and the last run; schedule show ID: its runs and what they cost
  schedule edit ID [PROMPT]  Change what is given, with the options of add; "none" takes --budget or --max-minutes away
      --allow-commands       Its runs may use the commands that the list names now
  schedule pause ID        Until schedule resume ID; schedule remove ID forgets it
  schedule run ID          Now, beside its times
  doctor                   What is installed, what is logged in, what to do
      --project DIR  --json
  sessions list            Sessions of a project, newest first. An id may be shortened wherever it is unique
      --project DIR          Whose (default: this folder)
      --all                  Of every project, and on a hub of every machine
      --archived             Only what was archived, which is left out otherwise
      --native               Conversations that the agents keep themselves; --harness ID asks only one.
${keptElsewhere()}
      --limit N  --json
  sessions show ID         What is known of a session, its last turns, and how to go on
  sessions search WORDS    What was said and done; all words, "a phrase" in quotes; --project, --all, --limit, --json
  sessions fork ID         A new session with the same history; --at SEQ up to an event, --title T
  sessions export ID       Without its secrets, to stdout
      --format F             md (the default), json, or html: one page that replays it
      --output FILE          To a new file
  sessions import [ID]     Take over a conversation that an agent keeps; without an ID, which ones there are
      --harness ID           Only this agent (default: all)
      --file FILE            Take over an export (json) instead; "-" reads stdin
      --project DIR  --json
  sessions rename ID TITLE Give it another title
  sessions pin ID          On top of the lists; --undo takes it down
  sessions archive ID      Out of the lists; --undo brings it back
  sessions prune           What raw logs of the project would be deleted; --yes deletes them. Sessions and history stay
      --older-than DAYS      Those that were last written to before that, or
      --max-gb N             the oldest, until the others take no more
      --project DIR  --json
  sessions delete ID       Everything there is of it; --yes asks no question
  replay ID                A session as it happened, without the long silences
      --speed X              Times faster (default: 1), or "max" for all at once
      --json                 One envelope a line
  personas list            The personas of a project, also those that cannot be used, and why
  personas show ID         What one may do
  personas allow ID        Lets one do without asking what its text says now; personas revoke ID takes that back
  personas prompt ID       What an agent is told; --mode M as for run
      --project DIR  --json
  policy check             Whether the rules that answer agents can be read, file by file
  policy show              The rules in their order, and where your own are kept
  policy rehearse          What the rules would answer to past requests, where it differs from what happened
      --project DIR          Whose rules and sessions (default: this folder)
      --policy FILE          In the place of your policy for the project, to try a change
      --json                 One file, or one change, a line; rehearse ends with the totals
  usage                    Cost and tokens, as the usage page of the dashboard shows them
      --by GROUP             day (the default), project, agent, model, persona or machine
      --days N               The last days, with today (default: 30); 1 is by hours
      --project DIR  --all   Whose (default: this folder)
      --json  --csv
  budget [show]            What a project may spend and has spent, or a session, or each session of a persona
  budget set               Change a limit, also while a turn runs: a number, or none
      --project DIR  --session ID  --persona ID
                             Whose (default: the project in this folder)
      --usd N --tokens N --minutes N
                             Minutes are those of turns, without the time that they wait for you
      --turns N              How many turns the project may have in all
      --json
  cage [LEVEL]             Whether every agent of the project runs in a cage: on, off or required. Without LEVEL: what is set
      --project DIR  --json
  trust [show]             The settings, hooks and MCP servers that a project brings for its agents, and whether they are used
  trust allow [HASH]       Let agents use these files, or those with this fingerprint, until one of them changes; --yes asks nothing
  trust revoke             Do not use them any more, and ask again about the tool servers of editors
      --project DIR  --json
  worktrees list           The worktrees of sessions: where, what they take, what is kept of removed ones
      --project DIR  --all  --json
  worktrees prune [ID]     Remove the named ones, or all whose session was deleted; what only they have is kept
      --project DIR  --all
  worktrees restore ID     A removed or missing one, with its branch and files
  worktrees forget ID      Give up what is kept of a removed one, or one whose repository is gone (its files stay)
  mcp                      Sessions of a project for other agents and programs, through MCP on stdin and stdout: see docs/mcp.md
      --project DIR          Whose (default: this folder)
      --http                 Print {"url","token"} for a client that speaks MCP over HTTP, and end
  acp                      Chirality as an agent for editors (Agent Client Protocol on stdin and stdout): see docs/editors.md
      --harness ID  --persona ID  --model M
                             Of new sessions
  blame FILE[:LINE]        Which turn of which agent wrote each line, for which prompt and money; no server is needed
      --project DIR  --json
      --notes                Instead of a file: write it for the last 100 commits as git notes, refs/notes/chirality
  changes SESSION [FILE]   Branch, files that are not committed, and what was taken back; or the changes in a file, numbered
      --turn ID              Of a file: what this turn changed. No server is needed; one that has the project is used
  commit SESSION           Commit what it changed, by your name; nothing is signed
      --message M            Default: made of the conversation, without a model
      --hooks                Run the hooks of the repository
  merge SESSION            Its branch into the branch that it came from. Uncommitted work of yours is never touched
      --squash  --rebase     As one commit; or the branch on top of its base instead
      --message M            Of the merge commit
      --resolve              Merge the base into the branch, and let the agent resolve the conflicts (in a server)
  discard SESSION FILE…    Take files back to the last commit, or what one turn did to them
      --turn ID              Only what this turn changed
      --hunk N,N             Of one file: only these changes, by their numbers in "changes SESSION FILE"
      --undo ID              Bring back what was taken
      --json
  push SESSION             Its branch by your own git push, never forced; what would be pushed is shown first
      --dry-run  --yes       Only show it; or push without a question
      --pr  --title T  --draft
                             Open a pull request through your own gh or glab; its text is made of the conversation
      --into REPOSITORY      Where: the repository itself, or the remote "upstream" of a fork (default, if there is one)
      --remote NAME  --hooks  --json
  back SESSION [TURN]      Files and conversation as before a turn, with what cannot be undone; without TURN: the turns
      --overwrite            Also files that somebody else changed since
      --undo                 Files and conversation as they were
      --yes  --json
  translate [FILE|-]       An agent's raw NDJSON to UI events, one a line
      --harness ID           Which agent wrote it: ${agents(TRANSLATABLE_HARNESSES)}
  scripted-model           A model server on loopback that answers from a script
      --script FILE          JSON or YAML
      --port N               Default: any free port
      --json                 First line: {"url","port","pid"}

  --help, --version
  An argument that begins with a dash goes after "--": chirality run -- "--help me"

Exit codes: 0 done, 1 the turn failed, 2 wrong usage, 3 the agent is not installed, 4 not logged in,
5 budget or turn limit reached, 130 interrupted.
`

/** The first is the default. */
/** The lines about one command; all of them for one that has none of its own. */
export function helpOf(command: string): string {
  let isOwn = false
  const own = HELP.split('\n').filter(line => {
    const head = /^(?: {2})?(\S+)/.exec(line)?.[1]
    if (head !== undefined) isOwn = line.startsWith(' ') && head === command
    return isOwn && line !== ''
  })
  if (own.length === 0) return HELP
  return `Usage: chirality ${command} [options]\n\n${own.join('\n')}\n\nAll commands: chirality --help\n`
}

function agents([first, ...others]: readonly string[]): string {
  const last = others.at(-1)
  return (
    [`${first} (the default)`, ...others.slice(0, -1)].join(', ') + (last === undefined ? '' : ` or ${last}`)
  )
}

function without(capability: keyof HarnessCapabilities): string {
  const ids = HARNESSES.filter(({ capabilities }) => !capabilities[capability]).map(({ meta }) => meta.id)
  return ids.length === 0 ? '' : ` Not ${ids.join(', ')}`
}

function keptElsewhere(): string {
  const lines = HARNESSES.flatMap(({ meta: { id, name, nativeSessions } }) => {
    if (nativeSessions === id) return []
    if (nativeSessions === undefined) return [`${name} keeps none`]
    return [`Those of ${name} are with ${harnessMeta(nativeSessions)?.name ?? nativeSessions}`]
  })
  return lines.map(line => `${' '.repeat(29)}${line}`).join('\n')
}

/** One line for each choice, worded as in the dashboard. A function, so that it can be defined below its use. */
function choices(words: Readonly<Record<string, ChoiceWords>>): string {
  const width = Math.max(...Object.keys(words).map(name => name.length))
  return Object.entries(words)
    .map(
      ([name, { label, consequence }]) => `${' '.repeat(31)}${name.padEnd(width)}  ${label}: ${consequence}`,
    )
    .join('\n')
}
