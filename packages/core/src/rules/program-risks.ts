import type { CallRisk, RiskKind } from '../events/ui-event.ts'
import { BACK_FILES, BACK_NO_REFS, BACK_NOT_THERE } from './git-risks.ts'

/** The dangers of programs that destroy or publish something, by their name and arguments. */
export function* tableRisks(program: string, args: readonly string[], part: string): Generator<CallRisk> {
  const rows = ROWS.get(program.toLowerCase())
  if (rows === undefined) return
  const plain = args.map(arg => arg.replace(/["'\\]/g, ''))
  const all = plain.join(' ')
  if (DRY.test(all)) return
  const isNamed = (call: RegExp) => [plain, afterOptions(plain)].some(some => call.test(namesIn(some)))
  for (const { call, flag, kind, words } of rows)
    if (isNamed(call) && (flag === undefined || flag.test(all))) yield { kind, part, words }
}

function namesIn(args: readonly string[]): string {
  return args.filter(arg => !arg.startsWith('-')).join(' ')
}

/** Without the options before the first command word, each taken to have a value: `gh -R owner/name release delete v1`. */
function afterOptions(args: readonly string[]): readonly string[] {
  let at = 0
  while (args[at]?.startsWith('-')) at += args[at]?.includes('=') ? 1 : 2
  return args.slice(at)
}

/** `-h` is a host or "halt" where something follows it. */
const DRY = /(?:^| )(?:--dry-?run(?:=(?!none|false)\S+)?(?: |$)|--help(?: |$)|--version(?: |$)|-h$)/

interface Row {
  /** In the arguments without options. */
  call: RegExp
  /** In all arguments. */
  flag?: RegExp
  kind: RiskKind
  words: string
}

/** Files of whole disks. */
export const DEVICE = /\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|loop|dm-|md|mapper\/)[\w-]*/
const UNCOMMITTED = `Throws away changes that are not committed. ${BACK_FILES}`

const ROWS = new Map<string, Row[]>()

/** `programs`: names, with blanks between. */
function add(programs: string, kind: RiskKind, words: string, call: RegExp, flag?: RegExp): void {
  for (const program of programs.split(' '))
    ROWS.set(program, [
      ...(ROWS.get(program) ?? []),
      { call, kind, words, ...(flag === undefined ? {} : { flag }) },
    ])
}

const REMOTE = `Deletes what runs or is stored on servers. ${BACK_NOT_THERE}`
const infra = (programs: string, call: RegExp, flag?: RegExp) => add(programs, 'remote', REMOTE, call, flag)
infra(
  'terraform tofu terragrunt',
  /^(?:(?:run-all|run|stack) )*destroy(?: |$)|^state (?:rm|push)\b|^workspace delete\b/,
)
infra('terraform tofu terragrunt', /^(?:(?:run-all|run|stack) )*apply\b/, /(?:^| )--?destroy\b/)
infra('pulumi', /(?:^| )(?:destroy|down|stack rm|state delete)(?: |$)/)
infra('cdk cdktf aws-cdk vagrant helmfile', /(?:^| )destroy(?: |$)/)
infra('sst serverless sls', /^remove\b/)
infra(
  'kubectl oc k microk8s.kubectl',
  /^(?!(?:\S+ )?(?:get|describe|logs|explain|exec|apply|create|top|auth|config|cp|port-forward|label|annotate|help|api-resources|events) ).*(?:^| )(?:delete|drain)(?: |$)/,
)
infra('kubectl oc k', /(?:^| )replace(?: |$)/, /(?:^| )--force\b/)
infra('kubectl oc k', /(?:^| )apply(?: |$)/, /(?:^| )--prune\b/)
infra('argocd flux', /(?:^| )(?:delete|uninstall)(?: |$)/)
infra('helm', /(?:^| )(?:uninstall|delete|del|un)(?: |$)/)
infra(
  'eksctl kops kind k3d minikube doctl linode-cli hcloud scw oci ibmcloud gcloud bq az neonctl neon pscale turso render influx ' +
    'vultr-cli civo exo upctl aliyun atlas sentry-cli velero cf sam copilot amplify chalice juju nova openstack op bw stripe',
  /^(?:(?!(?:list|describe|show|read|get\S*|create|update|set|help) )\S+ )*(?:delete|delete-\w+|purge|destroy|deprovision)(?: |$)/,
)
infra('gcloud', /^(?:alpha |beta )?storage (?:rm|buckets delete|rsync .*--delete\S*)\b/)
infra('kubectl oc k', /(?:^| )scale(?: |$)/, /(?:^| )--replicas[= ]0(?: |$)/)
infra('ansible', /(?:^| )state=absent(?: |$)/)
infra('azcopy', /^(?:remove|rm)\b/)
infra('dokku', /^\S+:destroy\b/)
infra('eb', /^terminate\b/)
infra('zappa', /^undeploy\b/)
infra('kamal', /^(?:app |accessory )?remove\b/)
infra('rabbitmqctl', /^(?:delete_\w+|purge_queue|reset|force_reset)\b/)
infra('s3cmd', /(?:^| )(?:del|rm|rb)(?: |$)/)
infra('mc', /^(?:rm|rb)\b/)
infra('b2', /^(?:delete-\S+|bucket delete|file-version delete|rm|file delete)(?: |$)/)
infra('rclone', /^(?:purge|delete|deletefile|rmdirs?|sync|cleanup)\b/)
infra('restic', /^(?:forget|prune)\b/)
infra('borg borgmatic', /^(?:delete|prune|compact)\b/)
infra('docker podman', /^(?:stack rm|service rm|swarm leave|secret rm|config rm)\b/)
infra('bq', /^rm\b/)
infra('aws', /(?:^| )s3 (?:rm|rb)(?: |$)/)
infra('aws', /(?:^| )s3 sync(?: |$)/, /(?:^| )--delete\b/)
infra(
  'aws',
  /(?:^| )(?:batch-|admin-|force-)?(?:delete|terminate|destroy|purge|deregister|remove|release-address|schedule-key-deletion)(?:-[a-z0-9-]+)?(?= |$)/,
)
infra('gsutil', /^(?:rm|rb)\b/)
infra('gsutil', /^rsync\b/, /(?:^| )-\w*d/)
infra(
  'heroku',
  /^(?:destroy|apps:(?:destroy|delete)|addons:destroy|pg:reset|pg:killall|domains:remove|config:unset)\b/,
)
infra('vercel now', /^(?:remove|rm|env rm|domains rm|project rm)\b/)
infra('fly flyctl', /^(?:(?:apps|machines?|volumes?|vol|postgres|pg) )?(?:destroy|delete)\b/)
infra('netlify', /^(?:sites:delete|api delete\w*)\b/)
infra('railway', /^(?:down|delete|volume delete)\b/)
infra('wrangler', /(?:^| )(?:delete|d1 delete)(?: |$)|:delete\b/)
infra('supabase', /^(?:projects|branches|secrets|functions) (?:delete|unset)\b/)
infra('firebase', /^(?:firestore:delete|database:remove|hosting:disable|functions:delete|apps:.*delete)\b/)
infra(
  'gh',
  /^(?:repo|release|secret|variable|run|gist|issue|cache|ssh-key|gpg-key|label|codespace|cs|project|environment|ruleset|repo deploy-key|deploy-key) (?:delete|remove|archive|delete-asset|item-delete)\b/,
)
add(
  'gh glab',
  'remote',
  `Overwrites a secret or a variable on the server; the old value cannot be read there. ${BACK_NOT_THERE}`,
  /^(?:secret|variable) (?:set|update)\b/,
)
infra('gh glab', /^api\b/, /(?:^| )(?:-X|--method)[ =]?DELETE\b/i)
infra('gh', /^api graphql\b/, /\bmutation\b[^}]{0,400}\b(?:delete|remove)[A-Z]/)
infra('gh', /^pr close\b/, /(?:^| )(?:-d|--delete-branch)(?: |$)/)
add('gh', 'history', UNCOMMITTED, /^pr checkout\b/, /(?:^| )(?:-f|--force)(?: |$)/)
add(
  'gh',
  'history',
  `Overwrites a branch with that of another repository. ${BACK_NOT_THERE}`,
  /^repo sync\b/,
  /(?:^| )--force(?: |$)/,
)
infra('glab', /^(?:repo|release|variable|issue|mr|label|ssh-key|snippet) delete\b/)
infra('vault', /^(?:delete|kv (?:delete|destroy|metadata delete)|secrets disable|auth disable)\b/)
infra('consul', /^kv delete\b/)
infra('etcdctl', /^del\b/)
infra('nomad', /^(?:job )?stop\b/, /(?:^| )-purge\b/)
infra('rabbitmqadmin', /^(?:delete|purge)\b/)
infra('kafka-topics kafka-topics.sh', /^/, /(?:^| )--delete\b/)

const VOLUMES = `Deletes volumes of containers with the data in them. ${BACK_NOT_THERE}`
const containers = 'docker podman nerdctl'
add(containers, 'data', VOLUMES, /(?:^| )volume (?:rm|remove|prune)\b/)
add(containers, 'data', VOLUMES, /(?:^| )system prune\b/, /(?:^| )--volumes\b/)
add('podman', 'data', VOLUMES, /^system reset\b/)
const STOPPED = `Deletes containers with the data that is only in them. ${BACK_NOT_THERE}`
add(containers, 'data', STOPPED, /(?:^| )(?:system|container) prune\b/)
add(containers, 'data', STOPPED, /^(?:container )?rm\b/, /(?:^| )(?:-\w*[fv]\w*|--force|--volumes|\$)/)
const COMPOSE_VOLUMES = /(?:^| )(?:-\w*v\w*|--volumes)(?= |$)/
add(containers, 'data', VOLUMES, /^compose (?:.* )?(?:down|rm)\b/, COMPOSE_VOLUMES)
add('docker-compose podman-compose', 'data', VOLUMES, /(?:^| )(?:down|rm)\b/, COMPOSE_VOLUMES)

const DATA = `Deletes data of a database. Going back to before this turn brings none of it back.`
const data = (programs: string, call: RegExp, flag?: RegExp) => add(programs, 'data', DATA, call, flag)
data('dropdb dropuser', /./)
data('mysqladmin', /(?:^| )drop(?: |$)/)
data('redis-cli valkey-cli', /(?:^| )flush(?:all|db)(?: |$)/i)
data('redis-cli valkey-cli', /(?:^| )(?:del|unlink) \{\}$/i)
data('mongorestore', /^/, /(?:^| )--drop(?: |$)/)
data('drizzle-kit', /^push\b/, /(?:^| )--force\b/)
data('sqlx diesel', /^(?:database|db) (?:drop|reset)\b/)
data('dotnet', /^ef database drop\b/)
data('dbmate migrate goose', /(?:^| )(?:drop|reset)(?: |$)/)
data('wp', /^db (?:reset|drop|clean)\b/)
data('drush', /^sql[-:]drop\b/)
data('prisma', /^migrate reset\b/)
data('prisma', /^db push\b/, /--(?:force-reset|accept-data-loss)\b/)
data('rails rake', /(?:^| )db:(?:drop|reset|purge|schema:load|migrate:reset)\b/)
data('php artisan', /(?:^|artisan )(?:migrate:(?:fresh|reset|refresh)|db:wipe)\b/)
data('php console', /doctrine:(?:database|schema):drop\b/)
data('python python3 manage.py django-admin', /(?:^|manage\.py )(?:flush|reset_db)\b/)
data('python python3 manage.py django-admin', /(?:^|manage\.py )migrate \S+ zero\b/)
data('sequelize sequelize-cli', /^db:drop\b/)
data('typeorm', /(?:^| )schema:drop\b/)
data('knex', /^migrate:rollback\b/, /(?:^| )--all\b/)
data('mix', /^ecto\.(?:drop|reset)\b/)
data('alembic', /^downgrade base\b/)
data('flyway', /^clean\b/)
data('liquibase', /^drop-?all\b/i)
data('supabase', /^db reset\b/)
data('pg_restore', /./, /(?:^| )(?:-c|--clean)\b/)

const PUBLISH = `Publishes something for others, or takes it away from them. ${BACK_NOT_THERE}`
const publish = (programs: string, call: RegExp, flag?: RegExp) =>
  add(programs, 'publish', PUBLISH, call, flag)
publish(
  'npm pnpm yarn bun',
  /^(?!(?:run|run-script|test|exec|dlx|help|view|info|search|install|i|add|why|explain|config|create|pkg|init)\b).*(?:^| )(?:publish|unpublish|deprecate)(?: |$)/,
)
publish('lerna changeset vsce ovsx flit deno jsr maturin pdm rye ko', /(?:^| )publish\b/)
publish(
  'npm pnpm yarn',
  /^(?:npm )?(?:dist-tag (?:add|rm|remove)|tag (?:add|remove)|owner (?:add|rm|remove)|token revoke|access (?:set|grant|revoke|public))\b/,
)
publish('semantic-release release-it np', /^/)
publish('goreleaser', /^release\b/, /^(?!.*--(?:snapshot|skip[= ]\S*publish))/)
publish('cargo', /^(?:\+\S+ )?(?:publish|yank)\b/, /^(?!.*(?:^| )-n(?: |$))/)
publish('cargo', /^(?:\+\S+ )?release\b/, /(?:^| )(?:-x|--execute)(?: |$)/)
publish('twine', /^upload\b/)
publish('python python3', /^twine upload\b/, /(?:^| )-m(?: |$)/)
publish('python python3 setup.py', /(?:^|setup\.py )(?:\S+ )*upload(?: |$)/, /^(?!-[cm] )/)
publish('dart flutter', /^pub publish\b/)
publish('sbt', /(?:^| )publish(?:Signed)?(?: |$)/)
publish('lein', /^deploy\b/)
publish('cabal stack luarocks conda anaconda snapcraft', /^upload\b/)
publish('dput dupload', /./)
publish('eas', /^submit\b/)
publish('rake', /^release\b/)
publish('gh glab', /^release (?:create|upload|edit)\b/)
publish('gh glab', /^repo edit\b/, /(?:^| )--visibility[ =]public\b/)
publish('gh glab', /^(?:repo rename|repo transfer)\b/)
publish('poetry uv hatch', /^publish\b/)
publish('gem', /^(?:push|yank)\b/)
publish(`${containers} buildah skopeo helm crane oras`, /^(?:image |manifest )?push\b/)
publish(containers, /^(?:buildx )?(?:build|bake)\b/, /(?:^| )--push\b/)
publish('skopeo', /^(?:copy .* docker:|delete\b)/)
publish('mvn mvnw', /(?:^| )deploy(?: |$)/)
publish('gradle gradlew', /(?:^| )publish(?:\w*)(?: |$)/)
publish('dotnet', /^nuget (?:push|delete)\b/)
publish('nuget', /^(?:push|delete)\b/)
publish('pod', /^trunk (?:push|delete|deprecate)\b/)
publish('mix', /^hex\.(?:publish|retire)\b/)

const RIGHTS = `Changes the rights or the owner of everything in a folder. Going back to before this turn restores no owners, and of rights only whether a file can be run.`
add('chmod chown chgrp setfacl', 'rights', RIGHTS, /./, /(?:^| )(?:-\w*R|--recursive)/)
add(
  'chmod',
  'rights',
  'Lets everybody on this machine change the file. Going back to before this turn does not change that.',
  /./,
  /(?:^| )(?:0?[0-7]{2}[2367]|[ugo]*[oa][ugo]*[+=]\w*w\w*)(?: |$)/,
)
add(
  'chmod',
  'rights',
  'Lets everybody who starts the file act as its owner. Going back to before this turn does not change that.',
  /./,
  /(?:^| )(?:0?[2-7][0-7]{3}|[ugoa]*[+=]\w*s\w*)(?: |$)/,
)
add(
  'chattr',
  'rights',
  'Changes which files can be changed or deleted at all. Going back to before this turn does not change that.',
  /./,
  /(?:^| )[-+=]\w*[ia]\w*(?: |$)/,
)
add(
  'gpg gpg2',
  'delete',
  'Deletes private keys, which nothing here can restore.',
  /^/,
  /(?:^| )--delete-secret-(?:and-public-)?keys?(?: |$)/,
)
add(
  'mv',
  'history',
  `Takes the repository away, with all commits in it. ${BACK_NO_REFS}`,
  /^(?:\S*\/)?\.git(?: |$)/,
)

const DELETES = `Deletes or empties files. ${BACK_FILES}`
add('truncate', 'delete', DELETES, /^/, /^(?!.*(?:-s ?|--size[= ])\+)/)
add('wipe srm del-cli trash-empty', 'delete', DELETES, /^/)
add('mv', 'delete', DELETES, /(?:^| )\/dev\/null$/)
add('cp install ln', 'delete', DELETES, /^\/dev\/null /)
add('tar', 'delete', DELETES, /^/, /(?:^| )--remove-files\b/)
add('rsync', 'delete', DELETES, /^/, /(?:^| )--remove-source-files\b/)
add('zip', 'delete', DELETES, /./, /(?:^| )(?:-\w*m\w*|--move)(?: |$)/)
add('remove-item ri', 'delete', DELETES, /^/, /(?:^| )-r(?:e\w*)?(?: |$)/i)
add('del erase rd rmdir', 'delete', DELETES, /^/, /(?:^| )\/s(?: |$)/i)
add('robocopy', 'delete', DELETES, /^/, /(?:^| )\/(?:mir|purge|move)(?: |$)/i)
add(
  'rsync',
  'delete',
  `Deletes files in the target that the source does not have. ${BACK_FILES}`,
  /./,
  /^(?!.*(?:^| )-\w*n).*(?:^| )--(?:del\b|delete)/,
)
add(
  'git-filter-repo bfg',
  'history',
  `Rewrites the commits of the repository. Going back to before this turn restores files here, but no commits.`,
  /^/,
)
add(
  'crontab',
  'delete',
  'Deletes or replaces all of your scheduled jobs. Going back to before this turn does not bring them back.',
  /^/,
  /^(?!.*(?:^| )-\w*[le]\w*(?: |$))/,
)
const SERVICES = 'Stops services of this machine, also for others that use them.'
add('systemctl', 'root', SERVICES, /(?:^| )(?:stop|disable|mask|kill|isolate|rescue|emergency)(?: |$)/)
add('launchctl', 'root', SERVICES, /^(?:unload|bootout|remove|stop|kill|disable)\b/)
add('service', 'root', SERVICES, / stop$/)
const EVERY_NAME = 'Ends every program of this name, also ones that others started.'
add(
  'killall pkill',
  'root',
  EVERY_NAME,
  /(?:^| )(?:\.\*?|node|python\d?|java|ruby|bash|zsh|sh|chirality|claude|codex|docker\S*|ssh\S*)$/,
)
add('killall pkill', 'root', EVERY_NAME, /^/, /(?:^| )(?:-\w*[uU]|--user|--euid|--uid)(?:[ =]|$)/)
add(
  'iptables ip6tables',
  'root',
  'Deletes the rules of the firewall.',
  /^/,
  /(?:^| )(?:-[FX]|--flush)(?: |$)/,
)
add('nft ufw', 'root', 'Deletes the rules of the firewall.', /^(?:flush|delete|disable|reset)\b/)
add('userdel deluser groupdel', 'root', 'Deletes a user of this machine.', /./)
add('kill', 'root', 'Ends all programs that you may end, this one with them.', /^/, /(?:^| )-1$/)
const ENDS_ALL = 'Ends everything that runs on this machine.'
add('killall5 shutdown reboot halt poweroff', 'root', ENDS_ALL, /^/, /^(?!.*(?:^| )-c(?: |$))/)
add('init telinit', 'root', ENDS_ALL, /^[016]$/)
add('systemctl', 'root', ENDS_ALL, /(?:^| )(?:poweroff|reboot|halt|kexec|suspend|hibernate)(?: |$)/)

const DISK = 'Writes over a disk directly: what is on it is lost.'
const disk = (programs: string, call: RegExp, flag?: RegExp) => add(programs, 'disk', DISK, call, flag)
disk('wipefs blkdiscard mkswap mke2fs newfs lvremove vgremove pvremove', /./)
disk('fdisk sfdisk cfdisk sgdisk gdisk', /./, /^(?!.*(?:^| )(?:-\w*[lpd]\w*|--list|--dump|--print)(?: |$))/)
disk('parted', /(?:^| )(?:rm|mklabel|mktable|mkpart|resizepart)(?: |$)/)
disk('cryptsetup', /^(?:luksFormat|luksErase|erase|reencrypt)\b/)
disk('nvme', /^(?:format|sanitize|delete-ns)\b/)
disk('badblocks', /./, /(?:^| )-\w*w/)
disk('mdadm', /./, /(?:^| )--(?:zero-superblock|stop)(?: |$)/)
disk('dmsetup', /^(?:remove|remove_all|wipe_table)\b/)
disk('hdparm', /./, /(?:^| )--security-erase/)
disk('zfs zpool', /^(?:destroy|rollback|labelclear)\b/)
disk('btrfs', /^(?:subvolume|su\w*) delete\b/)
disk('diskutil', /^(?:erase|partition|zero|secureErase|apfs delete)/i)
disk('cp mv install', new RegExp(`${DEVICE.source}$`))
disk('tee', DEVICE)

add('hg', 'history', UNCOMMITTED, /^(?:update|up|checkout|co)\b/, /(?:^| )(?:-\w*C|--clean)(?: |$)/)
add('hg', 'history', UNCOMMITTED, /^(?:revert|strip|prune)\b/)
add('hg', 'delete', DELETES, /^(?:purge|clean)\b/)
add('svn', 'history', UNCOMMITTED, /^revert\b/)
add('svn', 'delete', DELETES, /^cleanup\b/, /--remove-(?:unversioned|ignored)\b/)
