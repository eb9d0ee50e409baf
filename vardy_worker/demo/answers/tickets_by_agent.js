async function run(params) {
  const today = Date.parse(new Date().toISOString().slice(0, 10));
  const [agents, tickets] = await Promise.all([list_agents(), list_tickets({ status: "open" })]);
  const load = (agent_id) => {
    const own = tickets.filter((ticket) => ticket.agent_id === agent_id);
    const ages = own.map((ticket) => Math.round((today - Date.parse(ticket.opened_on)) / 86_400_000));
    return { open: own.length, urgent: own.filter((ticket) => ticket.priority === "high").length, oldest_days: Math.max(0, ...ages) };
  };
  const busiest = agents.map(({ id, name }) => ({ id, name, ...load(id) }));
  busiest.sort((a, b) => b.urgent - a.urgent || b.open - a.open || b.oldest_days - a.oldest_days);
  return { agents: busiest, with_nobody: load(null) };
}
