// Groups and their members, as rows say. Tokens may name further groups.

import { confirmEach } from "../dialog.js";
import { h } from "../dom.js";
import { count, number, principal } from "../format.js";
import { bindKey } from "../keys.js";
import { button, message, pageHead } from "../parts.js";
import { formDialog } from "../resource.js";
import { address } from "../router.js";
import { suggestions } from "../suggest.js";
import { columnsOf, dataTable, filterBar } from "../table.js";
import { toast } from "../toast.js";

export function open(page) {
  const [group] = page.path;
  return group ? showGroup(page, group) : showList(page);
}

function showList(page) {
  const table = dataTable({
    caption: "Groups",
    key: (row) => row.group,
    columns: columnsOf(page.contract, "listGroups", {
      show: ["group", "memberCount", "grantCount"],
      titles: { memberCount: "Members", grantCount: "Grants" },
      cells: { group: (row) => principal(row.group) },
    }),
    rows: page.pages("listGroups", { query: { ...page.query, pageSize: 100 } }),
    href: (row) => address("groups", {}, [row.group]),
    menu: (row) => [
      { label: "Members", icon: "group", href: address("groups", {}, [row.group]) },
      { label: "Its grants", icon: "grant", href: address("grants", { principal: row.group }) },
      page.may("reviewAccess") && {
        label: "What it may do",
        icon: "access",
        href: address("access", { principal: row.group }),
      },
    ],
    empty: Object.keys(page.query).length
      ? { icon: "group", title: "No group matches", text: "Change or clear the filters." }
      : {
          icon: "group",
          title: "No group yet",
          text: "A group begins with its first member or its first grant. Tokens may name groups without members here.",
          actions: page.may("createGroupMember")
            ? [button("New group", { tone: "primary", icon: "plus", run: create })]
            : [],
        },
  });
  async function create() {
    const made = await addMember(page, null);
    if (made) page.go(address("groups", {}, [made.group]));
  }
  if (page.may("createGroupMember")) bindKey("n", "New group", create, page.signal);
  return [
    pageHead("Groups", {
      text: "Groups that have members or grants here. A token may name further members.",
      actions: page.may("createGroupMember")
        ? [button("New group", { tone: "primary", icon: "plus", run: create, title: "n" })]
        : [],
    }),
    filterBar(page, "listGroups"),
    table.element,
  ];
}

function showGroup(page, group) {
  page.title(group);
  const table = dataTable({
    caption: "Members",
    key: (row) => row.member,
    columns: columnsOf(page.contract, "listGroupMembers", {
      show: ["member", "createdAt"],
      omit: ["group"],
      titles: { createdAt: "Since" },
    }),
    rows: page.pages("listGroupMembers", { path: { group }, query: { ...page.query, pageSize: 100 } }),
    href: page.may("reviewAccess") ? (row) => address("access", { principal: row.member }) : null,
    menu: (row) => [
      page.may("reviewAccess") && {
        label: "What it may do",
        icon: "access",
        href: address("access", { principal: row.member }),
      },
      page.may("offboardPrincipal") && {
        label: "Offboard",
        icon: "offboard",
        href: address("offboarding", { principal: row.member }),
      },
      page.may("deleteGroupMember") && {
        label: "Remove from the group",
        icon: "trash",
        tone: "danger",
        run: () => remove([row]),
      },
    ],
    bulk: page.may("deleteGroupMember")
      ? (rows) => [button("Remove", { tone: "danger", small: true, icon: "trash", run: () => remove(rows) })]
      : undefined,
    empty: {
      icon: "group",
      title: page.query.member ? "This user is no member by a row" : "No member yet",
      text: "Rows name members. Tokens may name this group as well, and those users are not listed.",
    },
  });
  async function remove(rows) {
    const title = rows.length === 1 ? "Remove this member?" : `Remove ${number(rows.length)} members?`;
    const done = await confirmEach(title, {
      confirm: "Remove",
      body: h(
        "div",
        { class: "stack" },
        h(
          "ul",
          { class: "plain" },
          rows.slice(0, 20).map((row) => h("li", {}, principal(row.member))),
        ),
        rows.length > 20 ? h("p", { class: "faint" }, `and ${number(rows.length - 20)} more`) : null,
        h("p", {}, "They lose what the group's grants allow, through their tickets too. Where a token names the group, they keep it, and so do tickets made with that token."),
      ),
      rows,
      call: (row) => page.call("deleteGroupMember", { path: { group, member: row.member } }),
      ended: table.remove,
    });
    if (done) toast(`${count(rows.length, "member")} removed`);
  }
  async function add() {
    const made = await addMember(page, group);
    if (made) table.insert(made);
  }
  if (page.may("createGroupMember")) bindKey("n", "Add a member", add, page.signal);
  return [
    pageHead(principal(group), {
      back: { href: "#/groups", label: "Groups" },
      actions: [
        page.may("reviewAccess")
          ? button("What it may do", { icon: "access", href: address("access", { principal: group }) })
          : null,
        button("Its grants", { icon: "grant", href: address("grants", { principal: group }) }),
        page.may("createGroupMember")
          ? button("Add a member", { tone: "primary", icon: "plus", run: add, title: "n" })
          : null,
      ],
    }),
    filterBar(page, "listGroupMembers"),
    table.element,
  ];
}

/** Asks for a member, and for the group unless it is given. Returns the new row. */
function addMember(page, group) {
  const body = page.contract.bodyOf("createGroupMember");
  const schema = {
    ...body,
    required: group ? body.required : ["group", ...body.required],
    properties: group
      ? body.properties
      : {
          group: { ...page.contract.schema("GroupPrincipal"), description: "The group, such as `group:staff`." },
          ...body.properties,
        },
  };
  return formDialog(page, group ? "Add a member" : "New group", {
    schema,
    suggest: { group: suggestions(page).principal },
    intro: group ? null : message("info", null, h("p", {}, "A group begins with its first member.")),
    operation: "createGroupMember",
    // The form demands a group. Until the person names it, the commands call it GROUP.
    call: ({ group: named = "GROUP", ...member }) => ({ path: { group: group ?? named }, body: member }),
    word: "Add",
    saved: "Added on every gateway",
  });
}
